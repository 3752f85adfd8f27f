/** The demo's story as events at the pace of a model: more than a minute of tokens, tools and one approval. */
import { demoScript } from './demo-script.ts';
import type { TurnBeat } from './demo-script.ts';

export interface TimedEvent {
  /** Since the event before it. */
  readonly afterMs: number;
  readonly type: string;
  readonly data: object;
}

/** One performance. Its name goes into every id, so that the next one is a conversation of its own. */
export function demoRun(performance: string): TimedEvent[] {
  const events: TimedEvent[] = [];
  const add = (afterMs: number, type: string, data: object) => void events.push({ afterMs, type, data });
  const counts = new Map<string, number>();
  const id = (what: string): string => {
    const count = (counts.get(what) ?? 0) + 1;
    counts.set(what, count);
    return `${what}-${performance}-${count}`;
  };

  for (const beat of demoScript) {
    if (beat.kind === 'said') {
      add(800, 'message.created', { key: id('key'), role: beat.by, content: beat.text });
      continue;
    }
    const turn = id('turn');
    let attempt = 1;
    add(300, 'turn.started', { turn, attempt });
    for (const part of beat.beats) {
      play(part, add, id);
      // Long enough to see that nothing comes any more.
      if (part.kind === 'fragment') add(2_500, 'turn.started', { turn, attempt: ++attempt });
    }
    add(150, 'turn.completed', { turn, attempt });
  }
  return events;
}

function play(
  part: TurnBeat,
  add: (afterMs: number, type: string, data: object) => void,
  id: (what: string) => string,
): void {
  switch (part.kind) {
    case 'thought':
    case 'answer':
    case 'fragment': {
      const message = id('message');
      const type = part.kind === 'thought' ? 'reasoning.delta' : 'text.delta';
      let waitMs = 600;
      for (const [index, text] of tokens(part.text).entries()) {
        add(waitMs, type, { message, text });
        waitMs = tokenMs(text, index);
      }
      if (part.kind === 'answer') add(100, 'message.completed', { message, role: 'assistant', content: part.text });
      return;
    }
    case 'tool': {
      const call = id('call');
      add(400, 'tool.call', { call, tool: part.tool, args: part.args });
      add(part.takesMs, 'tool.result', { call, result: part.result });
      return;
    }
    case 'approval': {
      const approval = id('approval');
      add(400, 'approval.required', { approval, tool: part.tool, args: part.args, reason: part.reason });
      add(part.takesMs, 'approval.decided', { approval, decision: 'approved', by: part.by });
      return;
    }
  }
}

/** Pieces of about the size that models emit: a short word with the space before it, or a part of a long one. */
export function tokens(text: string): string[] {
  return text.match(/\s*\S{1,6}|\s+$/gu) ?? [];
}

/** Uneven as a model is, the same each time, and a little slower after a sentence. */
export function tokenMs(text: string, index: number): number {
  return 30 + ((index * 37) % 71) + (/[.:?!]$/.test(text) ? 150 : 0);
}
