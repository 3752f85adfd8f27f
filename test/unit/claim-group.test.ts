/** Claims of one process that come together are one transaction, and each gets its own. */
import { expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { LedgerlineError } from '../../src/base/errors.ts';
import { limits } from '../../src/base/limits.ts';
import { createClaimGroup } from '../../src/turn/claim-group.ts';
import type { ClaimedTurn, ClaimRequest } from '../../src/turn/turns.ts';

const asking = (worker: string, limit = 1): ClaimRequest => ({
  worker,
  limit,
  waitMs: 0,
  policy: 'retry',
  maxAttempts: 3,
  turnMs: 1_000,
});

/** A transaction that ends when it is told to, with one turn of the worker's name for each request. */
function stage() {
  const flights: { readonly workers: readonly string[]; end(error?: Error): void }[] = [];
  const claim = createClaimGroup(
    systemClock,
    (requests) =>
      new Promise((resolve, reject) => {
        const workers = requests.map(({ worker }) => worker);
        const turns = workers.map((turn) => [{ turn } as ClaimedTurn]);
        flights.push({ workers, end: (error) => (error === undefined ? resolve(turns) : reject(error)) });
      }),
  );
  return { flights, claim };
}

/** What was asked for has taken off. */
const soon = async (): Promise<void> => {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

it('takes those that come in one turn of the loop together, and those that come meanwhile in the next, each with its own answer', async () => {
  const { flights, claim } = stage();
  const first = ['a', 'b'].map((worker) => claim(asking(worker)));
  await soon();
  const all = Promise.all([...first, ...['c', 'd'].map((worker) => claim(asking(worker)))]);
  await soon();
  expect(flights.map(({ workers }) => workers)).toEqual([['a', 'b']]);
  flights[0]?.end();
  await soon();
  expect(flights[1]?.workers).toEqual(['c', 'd']);
  flights[1]?.end();
  expect((await all).map(([turn]) => turn?.turn)).toEqual(['a', 'b', 'c', 'd']);
});

it('takes those whom the last answered, who ask again at once, with those who waited', async () => {
  const { flights, claim } = stage();
  const again = claim(asking('a')).then(async () => {
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve(); // as long as a worker's chain of promises is
    return claim(asking('again'));
  });
  await soon();
  const waiting = claim(asking('b'));
  flights[0]?.end();
  await soon();
  expect(flights[1]?.workers).toEqual(['b', 'again']);
  flights[1]?.end();
  await Promise.all([again, waiting]);
});

it('asks for no more turns at once than one claim may', async () => {
  const { flights, claim } = stage();
  const all = Promise.all(
    [asking('a'), asking('b', limits.claimTurns), asking('c'), asking('d')].map((one) => claim(one)),
  );
  for (const index of [0, 1, 2]) {
    await soon();
    flights[index]?.end();
  }
  await all;
  expect(flights.map(({ workers }) => workers)).toEqual([['a'], ['b'], ['c', 'd']]);
});

it('fails those of a transaction that failed, and serves the next', async () => {
  const { flights, claim } = stage();
  const lost = claim(asking('a'));
  await soon();
  const next = claim(asking('b'));
  flights[0]?.end(new Error('away'));
  await expect(lost).rejects.toThrow('away');
  await soon();
  flights[1]?.end();
  expect(await next).toHaveLength(1);
});

it('takes nothing for one whose caller left while it waited', async () => {
  const { flights, claim } = stage();
  const first = claim(asking('a'));
  await soon();
  const leaving = new AbortController();
  const left = claim(asking('b'), leaving.signal);
  leaving.abort();
  flights[0]?.end();
  await first;
  expect(await left).toEqual([]);
  expect(flights).toHaveLength(1);
});

it('tells those who wait behind one that found Postgres away, instead of asking it once more for each', async () => {
  const { flights, claim } = stage();
  const all = ['a', 'b', 'c'].map((worker) => claim(asking(worker, limits.claimTurns)));
  await soon();
  flights[0]?.end(new LedgerlineError('unavailable', 'away'));
  for (const one of all) await expect(one).rejects.toMatchObject({ code: 'unavailable' });
  expect(flights).toHaveLength(1);
  const next = claim(asking('d'));
  await soon();
  flights[1]?.end();
  expect((await next).map(({ turn }) => turn)).toEqual(['d']);
});
