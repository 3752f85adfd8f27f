/** Turns that are completed together share a commit, and no fault. */
import { expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
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
    systemClock,
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

/** What was asked for has taken off. */
const soon = async (): Promise<void> => {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

it('takes those that come together, and those that come meanwhile, in one transaction', async () => {
  const { flights, complete, sessions } = stage();
  const first = complete(of('a'));
  await soon();
  const all = Promise.all([first, ...['b', 'c'].map((session) => complete(of(session)))]);
  await soon();
  flights[0]?.end();
  await soon();
  flights[1]?.end();
  expect(await all).toEqual([done, done, done]);
  expect(sessions()).toEqual([['a'], ['b', 'c']]);
});

it('has no session twice in a transaction: the second needs judging', async () => {
  const { flights, complete, sessions } = stage();
  const all = Promise.all(['a', 'b', 'c', 'b'].map((session) => complete(of(session))));
  await soon();
  flights[0]?.end();
  expect(await all).toEqual([done, done, done, undefined]);
  expect(sessions()).toEqual([['a', 'b', 'c']]);
});

it('fails one that cannot be completed, and none beside it [I9]', async () => {
  const { flights, complete, sessions } = stage(['bad']);
  const all = Promise.allSettled(['a', 'bad', 'b'].map((session) => complete(of(session))));
  await soon();
  flights[0]?.end();
  await soon();
  for (const flight of flights.slice(1)) flight.end();
  expect((await all).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(sessions()).toEqual([['a', 'bad', 'b'], ['a'], ['bad'], ['b']]);
});

it('asks no further where Postgres is away: whoever waits is told', async () => {
  const { flights, complete } = stage();
  const first = complete(of('a'));
  await soon();
  const all = [first, ...['b', 'c'].map((session) => complete(of(session)))];
  flights[0]?.end(new LedgerlineError('unavailable', 'away'));
  for (const one of all) await expect(one).rejects.toMatchObject({ code: 'unavailable' });
  expect(flights).toHaveLength(1);
});

it('bounds a transaction by what is said in it, and by its turns [I6]', async () => {
  const { flights, complete, sessions } = stage();
  const large = Array.from({ length: 3 }, (_, index) => of(`large-${index}`, limits.groupBytes / 2));
  const small = Array.from({ length: limits.completeTurns + 1 }, (_, index) => of(`small-${index}`));
  const all = Promise.all([...large, ...small].map((one) => complete(one)));
  for (let index = 0; index < 3; index += 1) {
    await soon();
    flights[index]?.end();
  }
  await all;
  const half = 1 + limits.completeTurns / 2;
  expect(sessions().map(({ length }) => length)).toEqual([2, half, half]);
});
