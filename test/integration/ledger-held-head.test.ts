/** A head that somebody else holds stops its own session and no other [I9]. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Outcome } from '../../src/ledger/ledger.ts';
import type { PostgresLedger } from '../../src/ledger/postgres-ledger.ts';
import { anEvent, countTo, holdHeads, openLedger, readAll, withSql } from '../support/ledger.ts';
import { freshDatabase } from '../support/services.ts';
import type { FreshDatabase } from '../support/services.ts';
import { eventually } from '../support/waits.ts';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

let created = 0;
async function sessions(ledger: PostgresLedger, count: number): Promise<string[]> {
  const names = countTo(count).map(() => `s-${(created += 1)}`);
  await Promise.all(names.map((name) => ledger.create(name, {})));
  return names;
}
const append = (ledger: PostgresLedger, session: string, data: string): Promise<Outcome> =>
  ledger.append({ session, events: [anEvent(data)] });

/** Statements that stand before a locked head. */
const waitingBackends = () =>
  withSql(
    database.url,
    (sql) => sql<{ query: string }[]>`
      select query from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  );

describe('while a stranger holds one head', () => {
  it('every other session appends, and the held one goes on in order when it is let go', async () => {
    const ledger = openLedger(database.url);
    const [held = '', ...others] = await sessions(ledger, 21);
    const stranger = await holdHeads(database.url, held);
    let answered = 0;
    const stuck = countTo(20).map((turn) => append(ledger, held, String(turn)).finally(() => (answered += 1)));
    for (const turn of countTo(30)) {
      await Promise.all(others.map((session) => append(ledger, session, String(turn))));
    }
    await eventually('the held session waits alone', async () => (await waitingBackends()).length === 1);
    const later = countTo(5).map((turn) => append(ledger, held, String(20 + turn)).finally(() => (answered += 1)));
    for (const turn of countTo(30)) {
      await Promise.all(others.map((session) => append(ledger, session, String(30 + turn))));
    }
    expect(answered).toBe(0);
    expect(await waitingBackends()).toHaveLength(1); // what came later waits behind, not beside
    await stranger.release();
    expect((await Promise.all([...stuck, ...later])).map((outcome) => outcome.kind)).toEqual(
      countTo(25).map(() => 'appended'),
    );
    for (const session of others) {
      expect((await readAll(ledger, session)).map((event) => event.data)).toEqual(countTo(60));
    }
    expect((await readAll(ledger, held)).map((event) => event.data)).toEqual(countTo(25));
    await ledger.stop();
  });

  it('a lone session with nobody beside it waits just the same', async () => {
    const ledger = openLedger(database.url);
    const [held = ''] = await sessions(ledger, 1);
    const stranger = await holdHeads(database.url, held);
    const stuck = append(ledger, held, '1');
    await eventually('the held session waits alone', async () => (await waitingBackends()).length === 1);
    await stranger.release();
    expect(await stuck).toMatchObject({ kind: 'appended', first: 1 });
    await ledger.stop();
  });

  it('more sessions than there are connections to wait on take their turns', async () => {
    const ledger = openLedger(database.url, { soloConnections: 2 });
    const held = await sessions(ledger, 7);
    const stranger = await holdHeads(database.url, ...held);
    const stuck = held.map((session) => append(ledger, session, '1'));
    await eventually('two of them wait', async () => (await waitingBackends()).length === 2);
    await stranger.release();
    expect((await Promise.all(stuck)).map((outcome) => outcome.kind)).toEqual(held.map(() => 'appended'));
    await ledger.stop();
  });

  it('an append that has waited long enough is busy, nothing of it is stored, and the next one goes through', async () => {
    const ledger = openLedger(database.url, { headLockWaitMs: 50 });
    const [held = ''] = await sessions(ledger, 1);
    const stranger = await holdHeads(database.url, held);
    expect(await Promise.all(countTo(3).map((turn) => append(ledger, held, String(turn))))).toEqual([
      { kind: 'busy' },
      { kind: 'busy' },
      { kind: 'busy' },
    ]);
    await stranger.release();
    expect(await append(ledger, held, '4')).toMatchObject({ kind: 'appended', first: 1 });
    await ledger.stop();
  });

  it('broken content beside it is refused alone, and the held session keeps its order', async () => {
    const ledger = openLedger(database.url, { lanes: 1 });
    const [held = '', other = ''] = await sessions(ledger, 2);
    const stranger = await holdHeads(database.url, held);
    const stuck = countTo(8).map((turn) => append(ledger, held, String(turn)));
    const beside = countTo(8).map((turn) => append(ledger, other, turn === 3 ? '{"broken":' : String(turn)));
    expect((await Promise.all(beside)).filter((outcome) => outcome.kind === 'refused')).toHaveLength(1);
    await stranger.release();
    await Promise.all(stuck);
    expect((await readAll(ledger, held)).map((event) => event.data)).toEqual(countTo(8));
    expect((await readAll(ledger, other)).map((event) => event.data)).toEqual([1, 2, 4, 5, 6, 7, 8]);
    await ledger.stop();
  });
});

describe('closes that wait for held heads', () => {
  it('keep nobody from reading heads, pages and rows, or from creating', async () => {
    const ledger = openLedger(database.url);
    const held = await sessions(ledger, 12);
    const stranger = await holdHeads(database.url, ...held);
    const closing = held.map((session) => ledger.close(session));
    await eventually('closes wait', async () => (await waitingBackends()).length > 0);
    expect((await ledger.heads(held)).size).toBe(12);
    expect(await ledger.describe(held[0] ?? '')).toMatchObject({ state: 'open' });
    expect(await sessions(ledger, 5)).toHaveLength(5);
    expect(await readAll(ledger, held[0] ?? '')).toEqual([]);
    await stranger.release();
    expect((await Promise.all(closing)).map((head) => head?.state)).toEqual(held.map(() => 'closed'));
    await ledger.stop();
  });
});

describe('stopping', () => {
  it('twice is once, and afterwards nothing is connected', async () => {
    const ledger = openLedger(database.url);
    const [session = ''] = await sessions(ledger, 1);
    await append(ledger, session, '1');
    await Promise.all([ledger.stop(), ledger.stop()]);
    await ledger.stop();
    await expect(append(ledger, session, '2')).rejects.toMatchObject({ code: 'draining' });
    await expect(ledger.heads([session])).rejects.toMatchObject({ code: 'unavailable' });
    await eventually('no connection of it is left', () =>
      withSql(database.url, async (sql) => {
        const rows = await sql`
          select pid from pg_stat_activity
           where datname = current_database() and application_name like 'ledgerline%'`;
        return rows.length === 0;
      }),
    );
  });

  it('finishes what was taken and refuses what comes after', async () => {
    const ledger = openLedger(database.url);
    const [held = '', free = ''] = await sessions(ledger, 2);
    const stranger = await holdHeads(database.url, held);
    const taken = [...countTo(5).map((turn) => append(ledger, held, String(turn))), append(ledger, free, '1')];
    await eventually('the held session waits alone', async () => (await waitingBackends()).length === 1);
    const stopped = ledger.stop();
    await expect(append(ledger, free, '2')).rejects.toMatchObject({ code: 'draining' });
    await stranger.release();
    expect((await Promise.all(taken)).map((outcome) => outcome.kind)).toEqual(taken.map(() => 'appended'));
    await stopped;
  });

  it('gives up what cannot finish in time, and stores nothing of it afterwards', async () => {
    const ledger = openLedger(database.url, { headLockWaitMs: 200, flushDeadlineMs: 200, soloConnections: 1 });
    const [held = '', other = ''] = await sessions(ledger, 2);
    const stranger = await holdHeads(database.url, held, other);
    const taken = [held, other].map((session) => append(ledger, session, '1'));
    const stopped = ledger.stop();
    const fates = await Promise.allSettled(taken);
    for (const fate of fates) {
      expect(fate.status === 'fulfilled' ? fate.value.kind : (fate.reason as { code: string }).code).toMatch(
        /busy|unavailable|append_unknown/,
      );
    }
    await stopped;
    await stranger.release();
    const fresh = openLedger(database.url);
    expect(await readAll(fresh, held)).toEqual([]);
    expect(await readAll(fresh, other)).toEqual([]);
    await fresh.stop();
  });
});

describe('a queue that is full', () => {
  it('answers unavailable at once, for its appends and for their bytes', async () => {
    const ledger = openLedger(database.url, { laneQueueAppends: 3, laneQueueBytes: 100, lanes: 1, groupAppends: 1 });
    const [session = ''] = await sessions(ledger, 1);
    const many = await Promise.allSettled(countTo(10).map((turn) => append(ledger, session, String(turn))));
    const refused = many.filter(({ status }) => status === 'rejected');
    expect(refused.length).toBe(7);
    expect(refused[0]).toMatchObject({ reason: { code: 'unavailable' } });
    const [, large] = await Promise.allSettled([
      append(ledger, session, JSON.stringify('x'.repeat(60))),
      append(ledger, session, JSON.stringify('x'.repeat(60))),
    ]);
    expect(large).toMatchObject({ status: 'rejected', reason: { code: 'unavailable' } });
    expect(await append(ledger, session, '"afterwards"')).toMatchObject({ kind: 'appended', first: 5 });
    await ledger.stop();
  });
});
