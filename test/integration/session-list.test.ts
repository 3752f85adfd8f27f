/** The list of sessions: in order, page by page, for every reach, at the cost of what is on the page. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import { toCursor } from '../../src/event/sequence.ts';
import type { ListPlace, ListedSession } from '../../src/ledger/ledger.ts';
import type { PostgresLedger } from '../../src/ledger/postgres-ledger.ts';
import type { SessionFilter } from '../../src/ledger/session-filter.ts';
import { listSessions } from '../../src/ledger/session-list.ts';
import { anEvent, countTo, openLedger, withSql } from '../support/ledger.ts';
import { freshDatabase } from '../support/services.ts';
import type { FreshDatabase } from '../support/services.ts';

let database: FreshDatabase;
let ledger: PostgresLedger;
beforeAll(async () => {
  database = await freshDatabase();
  ledger = openLedger(database.url);
  await ledger.start();
});
afterAll(async () => {
  await ledger.stop();
  await database.drop();
});

const all: SessionFilter = { kind: 'all' };
const some = (reach: Partial<Extract<SessionFilter, { kind: 'some' }>>): SessionFilter => ({
  kind: 'some',
  sessions: [],
  prefixes: [],
  owner: undefined,
  ...reach,
});

/** Sets when something happened there last, to the microsecond. */
const setActivity = (session: string, at: string) =>
  withSql(
    database.url,
    (sql) =>
      sql`update ledgerline.session set last_activity_at = ${at}::text::timestamptz where session = ${session}::text`,
  );

async function walk(filter: SessionFilter, limit: number, subject = 'maya'): Promise<ListedSession[]> {
  const sessions: ListedSession[] = [];
  let after: ListPlace | undefined;
  do {
    const page = await ledger.list(filter, { limit, after }, subject);
    expect(page.sessions.length).toBeLessThanOrEqual(limit);
    sessions.push(...page.sessions);
    after = page.next;
  } while (after !== undefined);
  return sessions;
}
const ids = (sessions: readonly ListedSession[]): string[] => sessions.map(({ session }) => session);

describe('a list', () => {
  it('shows a session as it is, to each reader as read as it is', async () => {
    await ledger.create('l-1', { metadata: { title: 'one' } });
    await ledger.append({ session: 'l-1', events: [anEvent('1'), anEvent('2')] });
    await withSql(
      database.url,
      (sql) => sql`
        with head as (
          update ledgerline.session_head
             set turn_state = 'running', turn_id = 't1', fence = 7, lease_until = clock_timestamp(),
                 stop_mode = 'stop', stop_at = clock_timestamp()
           where session = 'l-1')
        update ledgerline.session
           set notable_sequence = 2, last_activity_at = '2026-11-30T04:00:00.000999Z' where session = 'l-1'`,
    );
    await ledger.markRead('l-1', 'maya', toCursor(1));
    const listed = {
      session: 'l-1',
      metadata: { title: 'one' },
      state: 'open',
      head: 2,
      floor: 0,
      turn: { state: 'running', turn: 't1', attempt: 7, stop: 'stop' },
      activity: '2026-11-30T04:00:00.000Z',
      notable: 2,
      read: 1,
    };
    const list = (subject: string) => ledger.list(some({ sessions: ['l-1'] }), { limit: 5 }, subject);
    expect(await list('maya')).toEqual({ sessions: [listed], next: undefined });
    expect((await list('noor')).sessions).toEqual([{ ...listed, read: 0 }]);
  });

  it('has what nobody may see in no page: deleted sessions, and those out of reach', async () => {
    for (const session of ['m-1', 'm-2', 'n-1', 'n-2']) await ledger.create(session, { owner: `o-${session}` });
    await ledger.delete('m-2');
    expect(ids(await walk(some({ prefixes: ['m-'] }), 5))).toEqual(['m-1']);
    expect(ids(await walk(some({ sessions: ['m-2', 'n-1', 'never'] }), 5))).toEqual(['n-1']);
    expect(ids(await walk(some({ owner: 'o-n-2' }), 5))).toEqual(['n-2']);
    expect(ids(await walk(some({ owner: 'o-m-2' }), 5))).toEqual([]);
    expect(ids(await walk(some({}), 5))).toEqual([]);
  });

  it('names a session once, however many ways lead to it', async () => {
    for (const session of ['p-1', 'p-2', 'p-3']) await ledger.create(session, { owner: 'p' });
    const reach = some({ sessions: ['p-1', 'p-2'], prefixes: ['p-', 'p-1', 'p-'], owner: 'p' });
    for (const limit of [1, 2, 3, 200]) expect(ids(await walk(reach, limit)).toSorted()).toEqual(['p-1', 'p-2', 'p-3']);
  });

  it('takes a prefix for what an id begins with, and nothing beside it', async () => {
    for (const session of ['q', 'q-', 'q-z', 'q-zz', 'q0', 'qz', 'r']) await ledger.create(session, {});
    expect(ids(await walk(some({ prefixes: ['q-'] }), 10)).toSorted()).toEqual(['q-', 'q-z', 'q-zz']);
    expect(ids(await walk(some({ prefixes: ['q-z'] }), 10)).toSorted()).toEqual(['q-z', 'q-zz']);
  });

  it('goes on where its page ended, to the microsecond and within one', async () => {
    const same = ['s-a', 's-b', 's-c'];
    for (const session of [...same, 's-d', 's-e']) await ledger.create(session, {});
    for (const session of same) await setActivity(session, '2026-01-01T00:00:00.000002Z');
    await setActivity('s-d', '2026-01-01T00:00:00.000003Z');
    await setActivity('s-e', '2026-01-01T00:00:00.000001Z');
    for (const limit of [1, 2, 3, 4, 5]) {
      expect(ids(await walk(some({ prefixes: ['s-'] }), limit))).toEqual(['s-d', 's-c', 's-b', 's-a', 's-e']);
    }
  });

  it('neither repeats nor misses a session that nothing happens to, while others move to its top', async () => {
    for (const each of countTo(20)) await ledger.create(`t-${each}`, {});
    const first = await ledger.list(some({ prefixes: ['t-'] }), { limit: 10 }, 'maya');
    await setActivity('t-1', '2030-01-01T00:00:00Z');
    await setActivity('t-20', '2030-01-01T00:00:00Z');
    const second = await ledger.list(some({ prefixes: ['t-'] }), { limit: 10, after: first.next }, 'maya');
    const seen = [...ids(first.sessions), ...ids(second.sessions)];
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.toSorted()).toEqual(
      countTo(20)
        .map((each) => `t-${each}`)
        .filter((id) => id !== 't-1')
        .toSorted(),
    );
  });
});

describe('a read position', () => {
  it('grows, and ends at the head', async () => {
    await ledger.create('v-1', {});
    await ledger.append({ session: 'v-1', events: countTo(5).map((each) => anEvent(String(each))) });
    const mark = (sequence: number, subject = 'maya') => ledger.markRead('v-1', subject, toCursor(sequence));
    expect(await mark(3)).toEqual({ read: 3, state: 'open' });
    expect(await mark(2)).toEqual({ read: 3, state: 'open' });
    expect(await mark(Number.MAX_SAFE_INTEGER)).toEqual({ read: 5, state: 'open' });
    expect(await mark(0, 'noor')).toEqual({ read: 0, state: 'open' });
    expect(await mark(4, 'a\u0000b')).toEqual({ read: 4, state: 'open' });
    expect((await ledger.list(some({ sessions: ['v-1'] }), { limit: 1 }, 'a\u0000b')).sessions[0]?.read).toBe(4);
  });

  it('is the highest of many that are said at once', async () => {
    await ledger.create('v-2', {});
    await ledger.append({ session: 'v-2', events: countTo(40).map((each) => anEvent(String(each))) });
    const said = await Promise.all(countTo(40).map((each) => ledger.markRead('v-2', 'maya', toCursor(each))));
    said.forEach((mark, index) => expect(mark?.read).toBeGreaterThan(index));
    expect((await ledger.markRead('v-2', 'maya', toCursor(1)))?.read).toBe(40);
  });

  it('is of no session that is not there, and stays as it is where one was deleted', async () => {
    expect(await ledger.markRead('never', 'maya', toCursor(1))).toBeUndefined();
    await ledger.create('v-3', {});
    await ledger.delete('v-3');
    expect(await ledger.markRead('v-3', 'maya', toCursor(1))).toMatchObject({ state: 'deleted' });
  });
});

describe('among 20,000 sessions', () => {
  let crowd: FreshDatabase;
  beforeAll(async () => {
    crowd = await freshDatabase();
  });
  afterAll(() => crowd.drop());

  /** Three owners have nearly all of it, which is what misleads a planner that knows it; two have one session each. */
  const fill = (first: number, last: number) =>
    withSql(
      crowd.url,
      (sql) => sql`
        with crowd as (
          insert into ledgerline.session (session, owner, metadata, last_activity_at)
          select case when i % 1000 = 0 then 'rare-' || i else 'run-' || i end,
                 case when i = 1 then 'one' when i = 2 then 'two' else 'many-' || i % 3 end,
                 '{}', '2026-01-01'::timestamptz + i * interval '1 minute'
            from generate_series(${first}::int, ${last}::int) i
          returning session
        ), heads as (
          insert into ledgerline.session_head (session) select session from crowd
        )
        insert into ledgerline.read_position (session, subject, sequence) select session, 'maya', 0 from crowd`,
    );

  const place: ListPlace = { activityUs: Date.UTC(2026, 0, 8) * 1_000, session: 'run-5' };
  const reaches: readonly (readonly [string, SessionFilter, ListPlace | undefined, number])[] = [
    ['all of them', all, undefined, 250],
    ['all of them, far down', all, place, 250],
    ['one owner of many', some({ owner: 'many-1' }), undefined, 300],
    ['one owner of many, far down', some({ owner: 'many-1' }), place, 300],
    ['an owner of one', some({ owner: 'one' }), undefined, 20],
    ['ids', some({ sessions: countTo(30).map((each) => `run-${each * 100 + 1}`) }), undefined, 250],
    ['a prefix that few have', some({ prefixes: ['rare-'] }), undefined, 2_200],
    ['a prefix that few have, far down', some({ prefixes: ['rare-'] }), place, 2_200],
    ['a prefix that nearly all have', some({ prefixes: ['run-'] }), undefined, 250],
    ['a prefix that nearly all have, far down', some({ prefixes: ['run-'] }), place, 250],
    ['a mix', some({ sessions: ['run-7', 'run-8'], prefixes: ['rare-', 'run-199'], owner: 'many-2' }), undefined, 450],
    ['a mix of little', some({ sessions: ['run-7', 'run-8'], prefixes: ['rare-'], owner: 'two' }), undefined, 2_200],
  ];

  /** Rows that the statement fetched from any table. The client's settings are those of the ledger's own. */
  const touched = (filter: SessionFilter, after: ListPlace | undefined) =>
    withSql(crowd.url, async (sql) => {
      return sql.begin(async (tx) => {
        await tx`set local enable_seqscan = off`;
        await tx`set local enable_bitmapscan = off`;
        const { sessions } = await listSessions(tx, filter, { limit: 50, after }, 'maya');
        const [row] = await tx<{ rows: number }[]>`
          select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::bigint as rows
            from pg_stat_xact_user_tables where schemaname = 'ledgerline'`;
        return { listed: sessions.length, rows: row?.rows ?? 0 };
      });
    });

  it('touches about as many rows as it lists, whatever the reach, and whatever the planner knows [graphile#558]', async () => {
    await fill(1, 20_000);
    for (const knows of [false, true]) {
      if (knows) await withSql(crowd.url, (sql) => sql`analyze`);
      for (const [name, filter, after, most] of reaches) {
        const { listed, rows } = await touched(filter, after);
        expect(listed, name).toBeGreaterThan(0);
        expect(rows, `${name}, ${knows ? 'with' : 'without'} statistics`).toBeLessThanOrEqual(most);
      }
    }
  });

  it('lists each once, in order, page by page', async () => {
    const own = openLedger(crowd.url);
    const seen: string[] = [];
    let after: ListPlace | undefined;
    do {
      const page = await own.list(all, { limit: limits.sessionsPerList, after }, 'maya');
      seen.push(...ids(page.sessions));
      after = page.next;
    } while (after !== undefined);
    expect(seen).toEqual(
      countTo(20_000)
        .toReversed()
        .map((each) => (each % 1_000 === 0 ? `rare-${each}` : `run-${each}`)),
    );
    await own.stop();
  });
});
