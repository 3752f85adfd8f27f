/** However the network cuts a stream into pieces, the same events come out of it. */
import { describe, expect, test } from 'vitest';
import type { SessionEvent } from '../../../web-client/src/session-event.ts';
import { followScripted } from '../../support/followed-session.ts';
import { eventOf, frames, ScriptedSession } from '../../support/scripted-session.ts';
import { recordedStreams } from '../../support/streams.ts';

const texts: readonly unknown[] = [
  'plain',
  'na\u00EFve \u20AC \u{1F600}\u{1F468}\u200D\u{1F469}\u200D\u{1F467} \u{1D11E}',
  '\uFEFFa mark that opens the text, and one inside \uFEFF',
  '\u2028 \u2029 \u0085 \u0000 \r\n \ud83d',
  'data: not a field\n\nid: 99\n\n: no comment',
  '',
  null,
  { nested: ['\u65E5\u672C\u8A9E', 1e-7, [[]]] },
];

const recorded: readonly SessionEvent[] = texts.map((data, index) => eventOf(index + 1, data));

/** A whole stream with every frame there is. */
function recording(events: readonly SessionEvent[]): string {
  const half = Math.floor(events.length / 2);
  const texted = events.map(frames.event);
  return [
    frames.retry(1_000),
    frames.hello(0, half),
    ...texted.slice(0, half),
    frames.connected(half),
    ': keeps proxies awake\n\n',
    frames.sync(half),
    ...texted.slice(half),
    frames.end(events.length),
  ].join('');
}

/** What a follower makes of a stream that comes in these pieces. */
async function heard(pieces: readonly Uint8Array[]) {
  const session = new ScriptedSession();
  session.receive = (visit) => {
    visit.say(...pieces);
    visit.end();
  };
  const followed = followScripted({ at: session });
  await followed.clock.settle();
  followed.follower.stop();
  const end = await followed.follower.done;
  return {
    events: followed.events,
    states: followed.states,
    faults: followed.faults,
    end,
    visits: session.visits.length,
  };
}

const whole = (events: readonly SessionEvent[]) => ({
  events,
  states: ['replaying', 'live', 'stopped'],
  faults: [],
  end: { kind: 'ended', reason: 'closed' },
  visits: 1,
});

describe.each([
  ['LF', '\n'],
  ['CRLF', '\r\n'],
  ['CR', '\r'],
])('a stream whose lines end with %s', (_, end) => {
  // a CR at the very end may be half of a CRLF, so something has to follow it
  const bytes = new TextEncoder().encode(`${recording(recorded).replaceAll('\n', end)}: over${end}`);

  test('is the same cut in two at every byte [eventsource-parser#17]', async () => {
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      const outcome = await heard([bytes.subarray(0, cut), bytes.subarray(cut)]);
      expect(outcome, `cut at byte ${cut}`).toEqual(whole(recorded));
    }
  });

  test('is the same byte by byte, and in pieces of every small size', async () => {
    for (let size = 1; size < 48; size += 1) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (__, index) =>
        bytes.subarray(index * size, (index + 1) * size),
      );
      expect(await heard(pieces), `pieces of ${size} bytes`).toEqual(whole(recorded));
    }
  });
});

test('a stream that breaks at any byte goes on from the last whole event', async () => {
  const bytes = new TextEncoder().encode(recording(recorded));
  for (let cut = 0; cut < bytes.length; cut += 1) {
    const session = new ScriptedSession();
    session.events.push(...recorded);
    session.receive = (visit, index) => {
      if (index > 0) return session.serve(visit);
      visit.say(bytes.subarray(0, cut));
      visit.cut();
    };
    const followed = followScripted({ at: session });
    await followed.clock.settle();
    const kept = followed.sequences.length;
    await followed.clock.advance(2_000);
    followed.follower.stop();
    expect(followed.events, `cut at byte ${cut}`).toEqual(recorded);
    expect(session.cursors, `cut at byte ${cut}`).toEqual([0, kept]);
    expect(followed.faults).toEqual([]);
  }
});

describe.each((recordedStreams() ?? []).map((stream) => [stream.name, stream.chunks] as const))(
  'a provider’s stream, %s,',
  (_, chunks) => {
    const events = chunks.map((chunk, index) => eventOf(index + 1, JSON.parse(chunk), 'ui.chunk'));
    const bytes = new TextEncoder().encode(recording(events));

    test('is the same cut at every byte of its beginning, and in pieces as a whole', async () => {
      for (let cut = 0; cut < 1_500; cut += 1) {
        const { events: some, faults } = await heard([bytes.subarray(0, cut), bytes.subarray(cut, 1_500)]);
        expect([some, faults], `cut at byte ${cut}`).toEqual([events.slice(0, some.length), []]);
        expect(some.length, `cut at byte ${cut}`).toBe(framesIn(bytes.subarray(0, 1_500)));
      }
      for (const size of [61, 4_093]) {
        const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (__, index) =>
          bytes.subarray(index * size, (index + 1) * size),
        );
        expect((await heard(pieces)).events).toEqual(events);
      }
    });
  },
);

/** Whole frames of events. */
const framesIn = (bytes: Uint8Array): number =>
  [...new TextDecoder().decode(bytes).matchAll(/\n\nid: \d+\ndata: .*(?=\n\n)/g)].length;
