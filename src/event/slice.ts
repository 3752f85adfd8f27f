/** Cuts the text of each event's `data` out of an append's body, so that no payload is ever parsed and printed again [I2] (pure). */
import { LedgerlineError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';

/**
 * The scanner trusts its text no further than brackets and quotes: on a text that `JSON.parse` takes its answer is
 * right, on any other it is some answer or a `malformed`, and the caller parses before it believes the slices.
 * It runs first, because it is what bounds the depth before anything else walks the text.
 */
export function sliceData(body: string): (string | undefined)[] {
  const slices: (string | undefined)[] = [];
  const start = skipSpace(body, 0);
  if (body.charCodeAt(start) !== OPEN_BRACE) {
    valueEnd(body, start);
    return slices;
  }
  walkObject(body, start, '', (key, at) => {
    if (key !== 'events' || body.charCodeAt(at) !== OPEN_BRACKET) return valueEnd(body, at);
    return walkArray(body, at, (index, itemAt) => {
      slices.push(undefined);
      if (body.charCodeAt(itemAt) !== OPEN_BRACE) return valueEnd(body, itemAt, index);
      return walkObject(body, itemAt, `events[${index}].`, (itemKey, from) => {
        const end = valueEnd(body, from, index);
        if (itemKey === 'data') slices[index] = body.slice(from, end);
        return end;
      });
    });
  });
  return slices;
}

/** The text of each member of a body that is an object, by its key. Refuses equal keys, and any text nested too deeply. */
export function sliceMembers(body: string): ReadonlyMap<string, string> {
  const members = new Map<string, string>();
  const start = skipSpace(body, 0);
  if (body.charCodeAt(start) !== OPEN_BRACE) {
    valueEnd(body, start);
    return members;
  }
  walkObject(body, start, '', (key, at) => {
    const end = valueEnd(body, at);
    members.set(key, body.slice(at, end));
    return end;
  });
  return members;
}

/** Refuses what `sliceMembers` does. */
export const checkBody = (text: string): void => void sliceMembers(text);

/** Refuses a JSON text nested deeper than `limits.jsonDepth`. */
export function checkDepth(text: string): void {
  valueEnd(text, skipSpace(text, 0));
}

/**
 * One line of the wire: raw line breaks between tokens become spaces [spec: a `data` field ends at CR or LF], and
 * the line separators that some clients split at [httpx-sse#34] become their escapes. The first can stand only
 * between the tokens of a JSON text, the others only within its strings, so the value stays the same.
 */
export function toOneLine(json: string): string {
  // Five native searches cost a tenth of one pass of the pattern [bench].
  if (!breaks.some((character) => json.includes(character))) return json;
  return json.replace(lineBreaks, (character) => lineBreakStandIns[character] ?? ' ');
}

const breaks = ['\n', '\r', '\u0085', '\u2028', '\u2029'];
const lineBreaks = /[\n\r\u0085\u2028\u2029]/g;
const lineBreakStandIns: Readonly<Record<string, string>> = {
  '\u0085': '\\u0085',
  '\u2028': '\\u2028',
  '\u2029': '\\u2029',
};

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const SPACE = 0x20;

/** Calls `visit` with each key and the place of its value; `visit` answers where the value ends. Returns the object's end. */
function walkObject(text: string, open: number, path: string, visit: (key: string, at: number) => number): number {
  const seen = new Set<string>();
  let at = skipSpace(text, open + 1);
  if (text.charCodeAt(at) === CLOSE_BRACE) return at + 1;
  for (;;) {
    if (text.charCodeAt(at) !== QUOTE) throw broken(at);
    const keyEnd = stringEnd(text, at);
    const key = keyText(text, at, keyEnd);
    // The parser takes the last of two equal keys; what is cut out must be what was judged.
    if (seen.has(key)) throw duplicateKey(path + key);
    seen.add(key);
    at = skipSpace(text, keyEnd);
    if (text.charCodeAt(at) !== COLON) throw broken(at);
    at = skipSpace(text, visit(key, skipSpace(text, at + 1)));
    const next = text.charCodeAt(at);
    if (next === CLOSE_BRACE) return at + 1;
    if (next !== COMMA) throw broken(at);
    at = skipSpace(text, at + 1);
  }
}

function walkArray(text: string, open: number, visit: (index: number, at: number) => number): number {
  let at = skipSpace(text, open + 1);
  if (text.charCodeAt(at) === CLOSE_BRACKET) return at + 1;
  for (let index = 0; ; index += 1) {
    if (index >= limits.eventsPerAppend) throw tooMany();
    at = skipSpace(text, visit(index, at));
    const next = text.charCodeAt(at);
    if (next === CLOSE_BRACKET) return at + 1;
    if (next !== COMMA) throw broken(at);
    at = skipSpace(text, at + 1);
  }
}

/** The place just behind the value that begins at `from`. */
function valueEnd(text: string, from: number, index?: number): number {
  let depth = 0;
  let at = from;
  while (at < text.length) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = stringEnd(text, at);
        if (depth === 0) return at;
        break;
      case OPEN_BRACE:
      case OPEN_BRACKET:
        depth += 1;
        if (depth > limits.jsonDepth) throw tooDeep(index);
        at += 1;
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        if (depth === 0) throw broken(at);
        depth -= 1;
        at += 1;
        if (depth === 0) return at;
        break;
      default:
        if (depth === 0) return scalarEnd(text, at);
        at += 1;
    }
  }
  throw broken(at);
}

function scalarEnd(text: string, from: number): number {
  let at = from;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code <= SPACE || code === COMMA || code === CLOSE_BRACE || code === CLOSE_BRACKET) break;
    at += 1;
  }
  if (at === from) throw broken(at);
  return at;
}

/** Up to here a string is walked, from here on searched: the search is faster but costs a call [bench]. */
const WALKED = 24;

/** The place just behind the string that opens at `open`. */
function stringEnd(text: string, open: number): number {
  let at = open + 1;
  const walkEnd = Math.min(at + WALKED, text.length);
  while (at < walkEnd) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    at += code === BACKSLASH ? 2 : 1;
  }
  for (let from = at; ;) {
    const quote = text.indexOf('"', from);
    if (quote < 0) throw broken(text.length);
    // A quote ends the string unless an odd number of backslashes stands before it.
    let first = quote;
    while (first > at && text.charCodeAt(first - 1) === BACKSLASH) first -= 1;
    if ((quote - first) % 2 === 0) return quote + 1;
    from = quote + 1;
  }
}

function keyText(text: string, open: number, end: number): string {
  const raw = text.slice(open + 1, end - 1);
  if (!raw.includes('\\')) return raw;
  try {
    return JSON.parse(text.slice(open, end)) as string;
  } catch {
    throw broken(open);
  }
}

function skipSpace(text: string, from: number): number {
  let at = from;
  for (;;) {
    const code = text.charCodeAt(at);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return at;
    at += 1;
  }
}

const broken = (at: number) =>
  new LedgerlineError('malformed', `not JSON: unexpected text at character ${at}`, {
    where: `character ${at}`,
  });

const duplicateKey = (path: string) =>
  new LedgerlineError('malformed', `the key ${path} occurs twice`, { where: path });

const tooMany = () =>
  new LedgerlineError('too_large', `an append holds at most ${limits.eventsPerAppend} events`, {
    limit: 'eventsPerAppend',
    max: limits.eventsPerAppend,
  });

const tooDeep = (index: number | undefined) =>
  new LedgerlineError('too_deep', `JSON may be nested ${limits.jsonDepth} deep`, {
    limit: 'jsonDepth',
    max: limits.jsonDepth,
    ...(index === undefined ? {} : { index }),
  });
