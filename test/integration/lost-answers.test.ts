/** Whoever asks again because the answer was lost around the commit gets what happened, and it has happened once. */
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { createTurns } from '../../src/turn/postgres-turns.ts';
import type { PostgresTurns } from '../../src/turn/postgres-turns.ts';
import type { ClaimedTurn } from '../../src/turn/turns.ts';
import { startCutProxy } from '../support/cut-proxy.ts';
import { anEvent } from '../support/ledger.ts';
import { turnStage } from '../support/turn-stage.ts';
import type { TurnStage } from '../support/turn-stage.ts';
import { eventually } from '../support/waits.ts';

let stage: TurnStage;
/** The answer to a COMMIT; or that of the statement which completes a turn, and commits by itself. */
const isOfCommit = (type: string, text: string): boolean =>
  (type === 'C' && text.startsWith('COMMIT')) ||
  (type === 'D' && text.includes(',"inputs":[') && !text.includes(',"try":'));

/** Turns behind a proxy that loses the answer to the next commit, and the connection with it. */
let far: PostgresTurns;
let losesNext = false;
beforeEach(async () => {
  stage = await turnStage();
  const proxy = await startCutProxy(stage.url);
  losesNext = false;
  proxy.fromServer = (type, text) => {
    if (!losesNext || !isOfCommit(type, text)) return 'pass';
    losesNext = false;
    return 'cut';
  };
  const { bus, metrics } = stage;
  far = createTurns({ url: proxy.url, bus, metrics, clock: systemClock, log: silentLog });
  onTestFinished(async () => {
    await far.service.stop();
    await proxy.close();
  });
});

async function running(): Promise<ClaimedTurn> {
  await stage.say(await stage.session(), 'hello', { key: 'k' });
  return stage.claimOne();
}

async function asking(): Promise<ClaimedTurn> {
  const turn = await running();
  await stage.turns.wait(turn, [{ approval: 'a', data: {} }]);
  return turn;
}

const decision = { approval: 'a', decision: 'approved', by: 'maya', comment: undefined } as const;
const error = { code: 'x', message: 'x' };

test.each<[string, () => Promise<ClaimedTurn>, (turn: ClaimedTurn) => Promise<unknown>, object]>([
  [
    'a message',
    running,
    ({ session }) => far.request({ session, key: 'k2', content: 'x', onBusy: 'enqueue', by: 'maya' }),
    { sequence: 3, isRepeat: true },
  ],
  ['a finish', running, (turn) => far.finish(turn, 'completed', [anEvent('{}')]), { status: 'done', sequence: 4 }],
  ['a failure', running, (turn) => far.fail(turn, error, false), { status: 'failed', sequence: 3 }],
  ['a failure that may be retried', running, (turn) => far.fail(turn, error, true), { status: 'open', sequence: 3 }],
  ['a release', running, (turn) => far.release(turn), { status: 'open', sequence: 3 }],
  ['a wait', running, (turn) => far.wait(turn, [{ approval: 'a', data: {} }]), { status: 'waiting', sequence: 4 }],
  ['a decision', asking, ({ session }) => far.decide(session, decision), { sequence: 5, isRepeat: true }],
  ['a stop', running, ({ session, turn }) => far.stop(session, 'maya', turn), { isStopping: true, isStopped: false }],
  ['the stop of a turn that waits', asking, ({ session, turn }) => far.stop(session, 'maya', turn), { state: 'idle' }],
])('%s', async (_, begin, act, answer) => {
  const turn = await begin();
  losesNext = true;
  await expect(act(turn)).rejects.toMatchObject({ code: 'unavailable' });
  expect(losesNext).toBe(false);
  const told = await stage.types(turn.session);
  expect(await act(turn)).toMatchObject(answer);
  expect(await stage.types(turn.session)).toEqual(told);
});

test('a claim: the turn that it began is given back untried, and may be tried still if it may be but once', async () => {
  await stage.say(await stage.session(), 'hello');
  const asked = { worker: 'w', limit: 1, waitMs: 0, policy: 'once', maxAttempts: 1, turnMs: 60_000 } as const;
  losesNext = true;
  await expect(far.claim(asked)).rejects.toMatchObject({ code: 'unavailable' });
  const [turn] = await eventually('it is to be claimed', async () => {
    const turns = await far.claim(asked);
    return turns.length > 0 && turns;
  });
  expect(turn).toMatchObject({ attempt: 2, tryNumber: 1 });
  expect(turn?.inputs).toHaveLength(1);
});
