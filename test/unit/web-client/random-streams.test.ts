/** Whatever the network and a faulty server do to the stream, each event is taken once and in order. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { followScripted, manualWorld } from '../../support/followed-session.ts';
import { seededRandom } from '../../support/manual-clock.ts';
import { eventOf, frames, problem, ScriptedSession } from '../../support/scripted-session.ts';
import type { Visit } from '../../support/scripted-session.ts';

type Step =
  | { readonly kind: 'events' | 'unheard' | 'gap'; readonly count: number }
  | { readonly kind: 'repeat' | 'junk' | 'sync' };
type Ending = 'cut' | 'torn' | 'end' | 'silence' | 'goaway' | 'denied';
type Fate =
  | { readonly kind: 'unserved'; readonly answer: 'fail' | 'unavailable' | 'unauthorized' | 'hang' }
  | { readonly kind: 'served'; readonly steps: readonly Step[]; readonly ending: Ending };

const count = fc.integer({ min: 1, max: 7 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constantFrom('events' as const, 'unheard' as const), count }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('gap' as const), count }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('repeat' as const, 'junk' as const, 'sync' as const) }) },
);
const fate: fc.Arbitrary<Fate> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('served' as const),
      steps: fc.array(step, { maxLength: 6 }),
      ending: fc.constantFrom<Ending>('cut', 'torn', 'end', 'silence', 'goaway', 'denied'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('unserved' as const),
      answer: fc.constantFrom('fail' as const, 'unavailable' as const, 'unauthorized' as const, 'hang' as const),
    }),
  },
);

/** Says what the steps ask for; true when something among it is wrong. */
function play(session: ScriptedSession, visit: Visit, steps: readonly Step[], ending: Ending, random: () => number) {
  let place = Number(visit.cursor);
  let isWrong = false;
  const texts = [frames.retry(random() * 2_000), frames.hello(place, session.head)];
  const event = (sequence: number) => texts.push(frames.event(eventOf(sequence)));
  for (const each of steps) {
    switch (each.kind) {
      case 'events':
        session.append(each.count);
        for (let sent = 0; sent < each.count; sent += 1) event((place += 1));
        break;
      case 'unheard':
        session.append(each.count);
        break;
      case 'gap':
        event(place + 1 + each.count);
        isWrong = true;
        break;
      case 'repeat':
        if (place === 0) break;
        event(1 + Math.floor(random() * place));
        isWrong = true;
        break;
      case 'junk':
        texts.push('id: 5\ndata: {"sequence":"five"}\n\n');
        isWrong = true;
        break;
      case 'sync':
        texts.push(frames.sync(place, session.head));
        break;
    }
  }
  if (ending === 'goaway') texts.push(frames.goaway(place, random() * 3_000));
  if (ending === 'denied') texts.push(frames.denied(place));
  if (ending === 'torn') texts.push(frames.event(eventOf(place + 1)).slice(0, -1 - Math.floor(random() * 40)));
  const bytes = new TextEncoder().encode(texts.join(''));
  for (let start = 0; start < bytes.length;) {
    const size = 1 + Math.floor(random() * 90);
    visit.say(bytes.subarray(start, start + size));
    start += size;
  }
  if (ending === 'cut' || ending === 'torn') visit.cut();
  else if (ending !== 'silence') visit.end();
  return isWrong;
}

const answers = {
  fail: () => 'fail' as const,
  hang: () => 'hang' as const,
  unavailable: () => problem(503, 'unavailable', { 'retry-after': '2' }),
  unauthorized: () => problem(401, 'unauthorized'),
};

describe.each(['at once', 'in its own time'])('a consumer that takes events %s', (pace) => {
  test('gets each once and in order, and every wrong stream is reported', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fate, { maxLength: 9 }), fc.integer(), async (fates, seed) => {
        const random = seededRandom(seed);
        const world = manualWorld(seed);
        const session = new ScriptedSession();
        const script = [...fates];
        let wrong = 0;
        session.meet = ({ path }) => {
          const [next] = script;
          if (!path.endsWith('/stream') || next?.kind !== 'unserved') return undefined;
          script.shift();
          return answers[next.answer]();
        };
        session.receive = (visit) => {
          const next = script.shift();
          if (next?.kind !== 'served') return session.serve(visit);
          if (play(session, visit, next.steps, next.ending, random)) wrong += 1;
        };
        const followed = followScripted({
          at: session,
          world,
          // asked again after one refusal; two in a row are final, and no part of this
          token: () => 'token',
          ...(pace === 'at once'
            ? {}
            : {
                onEvents: () => new Promise((resolve) => void world.clock.after(random() * 3_000, resolve)),
              }),
        });
        const isStopped = () => followed.follower.status.state === 'stopped';
        while (script.length > 0 && !isStopped()) {
          await world.clock.advance(10_000);
          if (random() < 0.2) world.wake('visible');
        }
        // A consumer in its own time may need minutes; what is said on a stream that has fallen behind would be wrong once more.
        const isBehind = () => followed.sequences.length < session.head;
        for (let wait = 0; wait < 60 && isBehind() && !isStopped(); wait += 1) await world.clock.advance(10_000);
        session.broadcast(2);
        await world.clock.advance(60_000);
        const isRefused = isStopped();
        followed.follower.stop();
        await followed.follower.done;
        await world.clock.settle();

        const refusals = fates.filter((each) => each.kind === 'unserved' && each.answer === 'unauthorized').length;
        if (refusals < 2) expect(isRefused).toBe(false);
        const expected = isRefused ? followed.sequences.length : session.head;
        expect(followed.sequences).toEqual(Array.from({ length: expected }, (_, index) => index + 1));
        expect(followed.faults.length).toBe(wrong);
        expect(followed.remains).toEqual({ timers: 0, listeners: 0, streams: 0 });
      }),
      { numRuns: 150 },
    );
  });
});
