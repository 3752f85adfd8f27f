/** Turns that are completed together share a commit, and no fault. */
import { expect, it } from 'vitest';
import { LedgerlineError } from '../../src/base/errors.ts';
import { limits } from '../../src/base/limits.ts';
import { createCompletionGroup } from '../../src/turn/completion-group.ts';
import type { Completion } from '../../src/turn/completion-group.ts';
import type { Settled } from '../../src/turn/turns.ts';

const of = (session: string, bytes = 2): Completion => ({
  attempt: { session, turn: 't', attempt: 1 },
  events: [{ type: 'x', data: '{}', bytes }],
});

const done = { state: 'idle', status: 'done' } as Settled;

/** A transaction that ends when it is told to; `failing` are sessions that no transaction can have. */
function stage(failing: readonly string[] = []) {
  const flights: { readonly sessions: readonly string[]; end(error?: Error): void }[] = [];
  const complete = createCompletionGroup(
    (completions) =>
      new Promise((resolve, reject) => {
        const sessions = completions.map(({ attempt }) => attempt.session);
        const fault = sessions.some((session) => failing.includes(session)) ? new Error('bad') : undefined;
        flights.push({
          sessions,
          end: (error = fault) => (error === undefined ? resolve(sessions.map(() => done)) : reject(error)),
        });
      }),
  );
  return { flights, complete, sessions: () => flights.map((flight) => flight.sessions) };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

it('takes off at once, and those that come meanwhile go together', async () => {
  const { flights, complete, sessions } = stage();
  const all = Promise.all(['a', 'b', 'c'].map((session) => complete(of(session))));
  flights[0]?.end();
  await settled();
  flights[1]?.end();
  expect(await all).toEqual([done, done, done]);
  expect(sessions()).toEqual([['a'], ['b', 'c']]);
});

it('has no session twice in a transaction: the second needs judging', async () => {
  const { flights, complete, sessions } = stage();
  const all = Promise.all(['a', 'b', 'c', 'b'].map((session) => complete(of(session))));
  flights[0]?.end();
  await settled();
  flights[1]?.end();
  expect(await all).toEqual([done, done, done, undefined]);
  expect(sessions()).toEqual([['a'], ['b', 'c']]);
});

it('fails one that cannot be completed, and none beside it [I9]', async () => {
  const { flights, complete, sessions } = stage(['bad']);
  const all = Promise.allSettled(['a', 'b', 'bad', 'c'].map((session) => complete(of(session))));
  for (const index of [0, 1]) {
    flights[index]?.end();
    await settled();
  }
  for (const flight of flights.slice(2)) flight.end();
  expect((await all).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
  expect(sessions()).toEqual([['a'], ['b', 'bad', 'c'], ['b'], ['bad'], ['c']]);
});

it('asks no further where Postgres is away: whoever waits is told', async () => {
  const { flights, complete } = stage();
  const all = ['a', 'b', 'c'].map((session) => complete(of(session)));
  flights[0]?.end(new LedgerlineError('unavailable', 'away'));
  for (const one of all) await expect(one).rejects.toMatchObject({ code: 'unavailable' });
  expect(flights).toHaveLength(1);
});

it('bounds a transaction by what is said in it, and by its turns [I6]', async () => {
  const { flights, complete, sessions } = stage();
  const large = Array.from({ length: 3 }, (_, index) => of(`large-${index}`, limits.groupBytes / 2));
  const small = Array.from({ length: limits.completeTurns + 1 }, (_, index) => of(`small-${index}`));
  const all = Promise.all([of('first'), ...large, ...small].map((one) => complete(one)));
  for (let index = 0; index < flights.length; index += 1) {
    flights[index]?.end();
    await settled();
  }
  await all;
  expect(sessions().map(({ length }) => length)).toEqual([
    1,
    2,
    1 + limits.completeTurns / 2,
    1 + limits.completeTurns / 2,
  ]);
});
