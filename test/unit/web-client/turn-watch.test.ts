/** Asking the server what the agent does, while events go on and histories are replaced. */
import { expect, test } from 'vitest';
import type { SessionEvent } from '../../../web-client/src/session-event.ts';
import type { SessionFacts, TurnFacts } from '../../../web-client/src/session-server.ts';
import { emptyWindow, grow } from '../../../web-client/src/session-window.ts';
import { createTurnWatch } from '../../../web-client/src/turn-watch.ts';
import { numbered } from '../../support/told-session.ts';

const notes = (first: number): SessionEvent[] => numbered([{ type: 'note', data: {} }], first);
const running: TurnFacts = { state: 'running', turn: 't1', attempt: 7, stop: null };
const ended: SessionEvent[] = numbered([{ type: 'turn.completed', data: { turn: 't1', attempt: 7, inputs: [] } }], 41);

/** Answers are the test's. */
function scene() {
  const answers: ((turn: TurnFacts) => Promise<void>)[] = [];
  const describe = (): Promise<SessionFacts> =>
    new Promise((resolve) => {
      answers.push(async (turn) => {
        resolve({ session: 's1', head: 99, floor: 0, state: 'open', metadata: null, turn, room: null });
        await new Promise((next) => setImmediate(next));
      });
    });
  let changes = 0;
  const watch = createTurnWatch(describe, () => void (changes += 1));
  return {
    watch,
    answers,
    get changes() {
      return changes;
    },
  };
}

test('what happened between the question and the answer is part of it, also what no screen has shown yet', async () => {
  const { watch, answers } = scene();
  const window = grow(emptyWindow, notes(40));
  expect(watch.now(window, true)).toEqual({ state: 'idle' });
  watch.take(ended);
  await answers[0]?.(running);
  // it says that nothing runs, and that something may be pending is asked for once more
  expect(watch.now(grow(window, ended), true).state).toBe('idle');
  expect(answers).toHaveLength(2);
});

test('one question is asked at a time, and none before all events are there', async () => {
  const { watch, answers } = scene();
  const window = grow(emptyWindow, notes(40));
  watch.now(window, false);
  expect(answers).toHaveLength(0);
  watch.now(window, true);
  watch.now(window, true);
  expect(answers).toHaveLength(1);
  await answers[0]?.(running);
  expect(watch.now(window, true)).toEqual({ state: 'running', turn: 't1', attempt: 7 });
  expect(answers).toHaveLength(1);
});

test('an answer about a history that was replaced is none', async () => {
  const stage = scene();
  const { watch, answers } = stage;
  watch.now(grow(emptyWindow, notes(40)), true);
  watch.reset();
  const other = grow(emptyWindow, notes(30));
  watch.now(other, true);
  await answers[0]?.(running);
  expect([watch.now(other, true).state, stage.changes]).toEqual(['idle', 0]);
  await answers[1]?.({ ...running, state: 'waiting' });
  expect([watch.now(other, true).state, stage.changes]).toEqual(['waiting', 1]);
});
