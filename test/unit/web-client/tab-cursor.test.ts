/** A follower behind a leader: what is heard is taken, in whatever moment it comes. */
import { expect, test } from 'vitest';
import { systemClock } from '../../../web-client/src/clock.ts';
import type { Recipient } from '../../../web-client/src/recipient.ts';
import type { SessionEvent } from '../../../web-client/src/session-event.ts';
import { createTabCursor } from '../../../web-client/src/tab-cursor.ts';
import type { LeaderState } from '../../../web-client/src/tab-channel.ts';

const event = (sequence: number): SessionEvent => ({
  sequence,
  type: 'note',
  at: '2026-11-30T04:00:00.000Z',
  data: {},
});
const here = (kind: 'replaying' | 'live', cursor: number) =>
  ({ kind: 'here', cursor, head: cursor, state: { kind } satisfies LeaderState }) as const;

function follow() {
  const told: string[] = [];
  let cursor = 41;
  const recipient: Recipient = {
    get cursor() {
      return cursor;
    },
    connecting: () => undefined,
    hello: (after) => void told.push(`hello ${after}`),
    events(events) {
      for (const { sequence } of events) told.push(`event ${(cursor = sequence)}`);
    },
    reset: () => undefined,
    connected: (head) => void told.push(`connected ${head}`),
    head: () => undefined,
    waiting: () => undefined,
    fault: () => undefined,
  };
  const server = { history: () => Promise.reject(new Error('nothing is missing')) };
  const { signal } = new AbortController();
  const parts = { recipient, server, clock: systemClock, signal, isLeading: () => true, finish: () => undefined };
  return { told, cursor: createTabCursor(parts) };
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await Promise.resolve();
}

/** A turn of the event loop ends every chain of promises that waits for nothing else. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test.each(Array.from({ length: 12 }, (_, index) => index))(
  'what is heard %i promises after something else waits for nothing more to be said',
  async (count) => {
    const { told, cursor } = follow();
    cursor.hear(here('replaying', 41));
    await turns(count);
    cursor.hear(here('live', 41));
    await settled();
    expect(told.at(-1)).toBe('connected 41');
    cursor.hear({ kind: 'events', events: [event(42)] });
    await turns(count);
    cursor.hear({ kind: 'events', events: [event(43)] });
    await settled();
    expect(told.slice(-2)).toEqual(['event 42', 'event 43']);
  },
);
