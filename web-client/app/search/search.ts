/** Finding text in a session's items, and cutting a text at what was found (pure). */
import type { TimelineItem } from '../../src/timeline-item.ts';
import { formatJson } from '../base/format.ts';

/** Matches whatever the case; undefined for an empty query. */
export function toPattern(query: string): RegExp | undefined {
  const text = query.trim();
  return text === '' ? undefined : new RegExp(text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`), 'giu');
}

/** Where an item matches, by key and in order. */
export function findMatches(items: readonly TimelineItem[], pattern: RegExp): readonly string[] {
  return items.filter((item) => textOf(item).search(pattern) >= 0).map(({ key }) => key);
}

/** The items of a session are many and change one at a time: each is read once. */
const texts = new WeakMap<TimelineItem, string>();

function textOf(item: TimelineItem): string {
  const known = texts.get(item);
  if (known !== undefined) return known;
  const text = partsOf(item).join('\n');
  texts.set(item, text);
  return text;
}

/** What the screen shows of it. */
function partsOf(item: TimelineItem): readonly string[] {
  switch (item.kind) {
    case 'message':
    case 'reasoning':
      return [item.text];
    case 'tool':
      return [item.tool ?? '', json(item.args), json(item.result), json(item.error)];
    case 'approval':
      return [
        item.tool ?? '',
        item.reason ?? '',
        json(item.args),
        item.decision ?? '',
        item.by ?? '',
        item.comment ?? '',
      ];
    case 'turn':
      return [item.turn, item.state, json(item.error)];
    case 'other':
      return [item.type, json(item.data)];
  }
}

const json = (value: unknown): string => (value === undefined ? '' : formatJson(value));

export interface Piece {
  readonly text: string;
  readonly isMatch: boolean;
  /** Where it begins in the whole. */
  readonly offset: number;
}

/** The pieces joined are the text again, to the last character. */
export function cutAtMatches(text: string, pattern: RegExp): readonly Piece[] {
  const pieces: Piece[] = [];
  let offset = 0;
  const push = (until: number, isMatch: boolean): void => {
    if (until > offset) pieces.push({ text: text.slice(offset, until), isMatch, offset });
    offset = until;
  };
  for (const match of text.matchAll(pattern)) {
    push(match.index, false);
    push(match.index + match[0].length, true);
  }
  push(text.length, false);
  return pieces;
}

/** The next match in a direction; without one to start from, the newest. Undefined at the end of them. */
export function stepMatch(matches: readonly string[], from: string | undefined, by: 1 | -1): string | undefined {
  const place = from === undefined ? -1 : matches.indexOf(from);
  return place < 0 ? matches.at(-1) : matches[place + by];
}
