/** A session's life: created once, closed for good, deleted without a trace of what it said. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import { START, toCursor } from '../../src/event/sequence.ts';
import type { PostgresLedger } from '../../src/ledger/postgres-ledger.ts';
import { anEvent, countTo, holdHeads, openLedger, storedRows, withSql } from '../support/ledger.ts';
import { freshDatabase } from '../support/services.ts';
import type { FreshDatabase } from '../support/services.ts';
import { eventually } from '../support/waits.ts';

let database: FreshDatabase;
let ledger: PostgresLedger;
let created = 0;

async function aSession(): Promise<string> {
  const session = `s-${(created += 1)}`;
  await ledger.create(session, {});
  return session;
}
const append = (session: string, data: string, via = ledger) => via.append({ session, events: [anEvent(data)] });

beforeAll(async () => {
  database = await freshDatabase();
  ledger = openLedger(database.url);
  await ledger.start();
});
afterAll(async () => {
  await ledger.stop();
  await database.drop();
});

/** Fills a session faster than appends would. */
const fill = (session: string, rows: number) =>
  withSql(database.url, async (sql) => {
    await sql`
      insert into ledgerline.event (session, sequence, type, payload, bytes, created_at)
      select ${session}::text, i, 'text.delta', '1', 1, clock_timestamp() from generate_series(1, ${rows}::int) i`;
    await sql`update ledgerline.session_head set last_sequence = ${rows}::bigint where session = ${session}::text`;
  });

const rowOf = async (session: string) => {
  const rows = await withSql(
    database.url,
    (sql) => sql<{ is_erased: boolean; metadata: unknown }[]>`
      select erased_at is not null as is_erased, metadata from ledgerline.session where session = ${session}::text`,
  );
  return rows[0];
};

describe('creating', () => {
  it('tells the session as it is described afterwards', async () => {
    const metadata = { title: 'one', nested: [1, { a: null }] };
    const { created: isNew, row } = await ledger.create('new-1', { metadata, owner: 'somebody' });
    expect(isNew).toBe(true);
    expect(row).toMatchObject({ session: 'new-1', head: 0, floor: 0, state: 'open', metadata, owner: 'somebody' });
    expect(row.createdAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(await ledger.describe('new-1')).toEqual(row);
    expect(await ledger.describe('never')).toBeUndefined();
  });

  it('again changes nothing and says so, whatever became of the session', async () => {
    await ledger.create('new-2', { owner: 'first' });
    expect(await ledger.create('new-2', { owner: 'second' })).toMatchObject({
      created: false,
      row: { owner: 'first' },
    });
    await ledger.delete('new-2');
    expect(await ledger.create('new-2', {})).toMatchObject({ created: false, row: { state: 'deleted' } });
  });

  it('at once from many sides is done once', async () => {
    for (const turn of countTo(20)) {
      const tried = await Promise.all(
        countTo(8).map((owner) => ledger.create(`race-${turn}`, { owner: String(owner) })),
      );
      expect(tried.filter((each) => each.created)).toHaveLength(1);
      expect(new Set(tried.map((each) => each.row.owner)).size).toBe(1);
    }
  });

  it('shows both rows or none to an append that races it', async () => {
    for (const turn of countTo(20)) {
      const [, outcome] = await Promise.all([ledger.create(`young-${turn}`, {}), append(`young-${turn}`, '1')]);
      expect(['appended', 'unknown_session']).toContain(outcome.kind);
    }
  });
});

describe('heads', () => {
  it('come for the sessions that exist, in one query', async () => {
    const [one, other] = [await aSession(), await aSession()];
    await append(one, '1');
    await ledger.close(other);
    const heads = await ledger.heads([one, 'never', other]);
    expect(Object.fromEntries(heads)).toEqual({
      [one]: { head: 1, floor: 0, state: 'open' },
      [other]: { head: 0, floor: 0, state: 'closed' },
    });
    expect((await ledger.heads([])).size).toBe(0);
  });

  it('come for thousands of sessions at once', async () => {
    const session = await aSession();
    const asked = [...countTo(5_000).map((each) => `no-${each}`), session];
    expect([...(await ledger.heads(asked)).keys()]).toEqual([session]);
  });
});

describe('closing', () => {
  it('is once and for all, and tells the head', async () => {
    const session = await aSession();
    await append(session, '1');
    expect(await ledger.close(session)).toEqual({ head: 1, floor: 0, state: 'closed' });
    expect(await ledger.close(session)).toEqual({ head: 1, floor: 0, state: 'closed' });
    expect(await append(session, '2')).toEqual({ kind: 'closed' });
    expect(await ledger.close('never')).toBeUndefined();
  });

  it.each(['close', 'delete'] as const)(
    'a %s that races fifty appends is behind everything that is stored',
    async (end) => {
      const other = openLedger(database.url);
      for (const turn of countTo(15)) {
        const session = await aSession();
        const appends = countTo(50).map((each) => append(session, String(each), each % 2 ? ledger : other));
        const ending = Promise.resolve(turn % 3 === 0 ? undefined : appends[turn]).then(() => other[end](session));
        const head = await ending;
        const outcomes = await Promise.all(appends);
        const refusal = end === 'close' ? 'closed' : 'deleted';
        const stored = outcomes.filter((outcome) => outcome.kind === 'appended');
        expect(outcomes.filter((outcome) => outcome.kind === refusal)).toHaveLength(50 - stored.length);
        // the head that the end told is the last there will ever be
        expect(head?.head).toBe(stored.length);
        expect((await ledger.heads([session])).get(session)?.head).toBe(stored.length);
        if (end === 'close') expect(await storedRows(database.url, session)).toHaveLength(stored.length);
      }
      await other.stop();
    },
  );

  it('waits for whoever holds the head, and is busy when that takes too long', async () => {
    const impatient = openLedger(database.url, { headLockWaitMs: 100 });
    const session = await aSession();
    const stranger = await holdHeads(database.url, session);
    await expect(impatient.close(session)).rejects.toMatchObject({ code: 'session_busy' });
    await expect(impatient.delete(session)).rejects.toMatchObject({ code: 'session_busy' });
    const closing = ledger.close(session);
    await stranger.release();
    expect(await closing).toMatchObject({ state: 'closed' });
    await impatient.stop();
  });
});

describe('deleting', () => {
  it('leaves a tombstone, erases every event and the metadata, and never gives the id again', async () => {
    await ledger.create('gone', { metadata: { secret: 1 }, owner: 'o' });
    await append('gone', '"secret"');
    expect(await ledger.delete('gone')).toEqual({ head: 1, floor: 1, state: 'deleted' });
    await eventually('the session is erased', async () => (await rowOf('gone'))?.is_erased);
    expect(await storedRows(database.url, 'gone')).toEqual([]);
    expect((await rowOf('gone'))?.metadata).toBeNull();
    expect(await append('gone', '1')).toEqual({ kind: 'deleted' });
    expect(await ledger.close('gone')).toMatchObject({ state: 'deleted' });
    expect(await ledger.delete('gone')).toMatchObject({ state: 'deleted', head: 1 });
    expect(await ledger.delete('never')).toBeUndefined();
  });

  it('is complete for readers at once, before a single row is erased', async () => {
    const session = await aSession();
    await append(session, '"secret"');
    // the tombstone alone, as a crash right after it would leave it
    await withSql(
      database.url,
      (sql) => sql`
        with head as (update ledgerline.session_head set state = 'deleted', floor = last_sequence where session = ${session}::text)
        update ledgerline.session set deleted_at = clock_timestamp() where session = ${session}::text`,
    );
    const layout = { open: '', middle: '', close: '' };
    expect((await ledger.page(session, START, toCursor(9), layout)).pieces).toEqual([]);
    expect((await ledger.history(session, { limit: 9 })).events).toEqual([]);
    expect(await storedRows(database.url, session)).toHaveLength(1);
  });

  it('is finished at the next start when a crash came between', async () => {
    const session = await aSession();
    await fill(session, limits.eraseRows * 2 + 5);
    await withSql(
      database.url,
      (sql) => sql`
        with head as (update ledgerline.session_head set state = 'deleted', floor = last_sequence where session = ${session}::text)
        update ledgerline.session set deleted_at = clock_timestamp() where session = ${session}::text`,
    );
    const next = openLedger(database.url);
    await next.start();
    await eventually('the session is erased', async () => (await rowOf(session))?.is_erased);
    expect(await storedRows(database.url, session)).toEqual([]);
    await next.stop();
  });

  it('erases large events in batches of their own', async () => {
    const session = await aSession();
    await fill(session, 5);
    await withSql(
      database.url,
      (sql) => sql`update ledgerline.event set bytes = ${limits.eraseBytes - 1}::int where session = ${session}::text`,
    );
    await ledger.delete(session);
    await eventually('the session is erased', async () => (await rowOf(session))?.is_erased);
    expect(await storedRows(database.url, session)).toEqual([]);
  });

  it('takes the running turn from its attempt', async () => {
    const session = await aSession();
    await withSql(
      database.url,
      (sql) => sql`
        update ledgerline.session_head set turn_state = 'running', turn_id = 't', fence = 3, lease_until = clock_timestamp()
         where session = ${session}::text`,
    );
    await ledger.delete(session);
    const rows = await withSql(
      database.url,
      (sql) => sql`
        select turn_state, turn_id, fence, lease_until from ledgerline.session_head where session = ${session}::text`,
    );
    expect(rows[0]).toEqual({ turn_state: 'idle', turn_id: null, fence: 4, lease_until: null });
  });
});
