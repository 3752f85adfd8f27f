/** Appends on a real Postgres: contiguous, all or nothing, judged in order, and each by itself. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import { toCursor } from '../../src/event/sequence.ts';
import type { AppendRequest, Outcome } from '../../src/ledger/ledger.ts';
import { createLedger } from '../../src/ledger/postgres-ledger.ts';
import { sessionWork } from '../../src/turn/session-work.ts';
import type { PostgresLedger } from '../../src/ledger/postgres-ledger.ts';
import { anEvent, countTo, fateOf, openLedger, readAll, storedRows, textOf, withSql } from '../support/ledger.ts';
import { freshDatabase } from '../support/services.ts';
import type { FreshDatabase } from '../support/services.ts';

let database: FreshDatabase;
let ledger: PostgresLedger;
let created = 0;

async function aSession(): Promise<string> {
  const session = `s-${(created += 1)}`;
  await ledger.create(session, {});
  return session;
}

beforeAll(async () => {
  database = await freshDatabase();
  ledger = openLedger(database.url);
});
afterAll(async () => {
  await ledger.stop();
  await database.drop();
});

const append = (session: string, data: string, more: Partial<AppendRequest> = {}): Promise<Outcome> =>
  ledger.append({ session, events: [anEvent(data)], ...more });

const run = (session: string, id: string, sequence: number, ...data: string[]): Promise<Outcome> =>
  ledger.append({ session, events: data.map((each) => anEvent(each)), producer: { id, sequence } });

describe('numbering [I1]', () => {
  it.each([1, 2])('ten writers with a hundred appends each leave 1 to 1,000, through %i ledgers', async (ledgers) => {
    const session = await aSession();
    const all = countTo(ledgers).map(() => openLedger(database.url));
    const outcomes = await Promise.all(
      countTo(10).map(async (writer) => {
        const mine: Outcome[] = [];
        for (const turn of countTo(100)) {
          const via = all[writer % ledgers] ?? ledger;
          mine.push(await via.append({ session, events: [anEvent(JSON.stringify({ writer, turn }))] }));
        }
        return mine;
      }),
    );
    await Promise.all(all.map((each) => each.stop()));
    const events = await readAll(ledger, session);
    expect(events.map((event) => event.sequence)).toEqual(countTo(1_000));
    for (const [index, mine] of outcomes.entries()) {
      const sequences = mine.map((outcome) => (outcome.kind === 'appended' ? outcome.first : outcome.kind));
      // what a writer was told is where its events are, in its own order
      expect(sequences).toEqual(sequences.toSorted((a, b) => Number(a) - Number(b)));
      expect(sequences.map((sequence) => events[Number(sequence) - 1]?.data)).toEqual(
        countTo(100).map((turn) => ({ writer: index + 1, turn })),
      );
    }
  });

  it('spans many sessions in one flush and gives each its own numbers', async () => {
    const sessions = await Promise.all(countTo(50).map(() => aSession()));
    await Promise.all(countTo(20).flatMap((turn) => sessions.map((session) => append(session, String(turn)))));
    for (const session of sessions) {
      const events = await readAll(ledger, session);
      expect(events.map((event) => [event.sequence, event.data])).toEqual(countTo(20).map((turn) => [turn, turn]));
    }
  });

  it('refused and rolled-back appends, three in ten, leave no hole (pdo-event-store#189)', async () => {
    const session = await aSession();
    await withSql(database.url, async (stranger) => {
      for (const turn of countTo(100)) {
        if (turn % 10 === 0) {
          await stranger.begin(async (tx) => {
            await tx`update ledgerline.session_head set last_sequence = last_sequence + 1 where session = ${session}::text`;
            throw new Error('rolled back');
          }).catch(() => undefined); // prettier-ignore
        } else if (turn % 10 === 1) await append(session, '{"broken":');
        else if (turn % 10 === 2) await append(session, '0', { expectedHead: toCursor(turn + 1_000) });
        else await append(session, String(turn));
      }
    });
    const events = await readAll(ledger, session);
    expect(events.map((event) => event.sequence)).toEqual(countTo(70));
  });

  it('goes to 2^53−1 and not beyond', async () => {
    const session = await aSession();
    const last = Number.MAX_SAFE_INTEGER;
    await withSql(
      database.url,
      (sql) => sql`
        update ledgerline.session_head set last_sequence = ${last - 1}::bigint, floor = ${last - 1}::bigint
         where session = ${session}::text`,
    );
    expect(await append(session, '"last"')).toMatchObject({ kind: 'appended', first: last, last });
    expect(await append(session, '"beyond"')).toMatchObject({ kind: 'refused' });
    expect(await ledger.heads([session])).toEqual(new Map([[session, { head: last, floor: last - 1, state: 'open' }]]));
    const layout = { open: '', middle: ' ', close: '' };
    const page = await ledger.page(session, toCursor(last - 1), toCursor(last), layout);
    expect(page).toMatchObject({ last, cut: 'end' });
    expect(textOf(page)).toMatch(/^9007199254740991 \{"sequence":9007199254740991,/);
  });

  it('gives times that never run backwards inside a session', async () => {
    const session = await aSession();
    await Promise.all(
      countTo(300).map((turn) =>
        append(session, String(turn), turn % 2 ? {} : { producer: { id: 'p', sequence: turn } }),
      ),
    );
    const [row] = await withSql(
      database.url,
      (sql) => sql<{ backwards: number }[]>`
        select count(*) filter (where created_at < before) as backwards
          from (select created_at, lag(created_at) over (order by sequence) as before
                  from ledgerline.event where session = ${session}::text) e`,
    );
    expect(row?.backwards).toBe(0);
  });
});

describe('a repeated append [I8]', () => {
  it('is a duplicate when its content is the same, and tells where it is', async () => {
    const session = await aSession();
    expect(await run(session, 'a', 1, '1', '2')).toMatchObject({ kind: 'appended', first: 1, last: 2 });
    expect(await run(session, 'a', 1, '1', '2')).toEqual({ kind: 'duplicate', first: 1, last: 2 });
    expect(await run(session, 'a', 2, '2')).toEqual({ kind: 'duplicate', first: 2, last: 2 });
    expect(await storedRows(database.url, session)).toHaveLength(2);
  });

  it('is a conflict when its content is another, were it only the spelling of a number', async () => {
    const session = await aSession();
    await run(session, 'a', 1, '1.0', '2');
    expect(await run(session, 'a', 1, '1', '2')).toEqual({ kind: 'conflict', first: 1, last: 2 });
  });

  it('is an overlap when it is stored in part, and tells the last stored counter', async () => {
    const session = await aSession();
    await run(session, 'a', 1, '1', '2', '3');
    expect(await run(session, 'a', 3, '3', '4')).toEqual({ kind: 'overlap', counter: 3 });
  });

  it('of another producer with the same counters is its own', async () => {
    const session = await aSession();
    await run(session, 'a', 1, '1', '2');
    expect(await run(session, 'b', 1, '1', '2')).toMatchObject({ kind: 'appended', first: 3, last: 4 });
  });

  it('meets the same answers when all of them wait for one flush', async () => {
    const session = await aSession();
    const outcomes = await Promise.all([
      run(session, 'a', 1, '1', '2'),
      run(session, 'b', 1, '1', '2'),
      run(session, 'a', 1, '1', '2'),
      run(session, 'b', 1, '1', 'null'),
      run(session, 'a', 2, '2', '3'),
      run(session, 'a', 3, '3'),
    ]);
    expect(outcomes).toMatchObject([
      { kind: 'appended', first: 1, last: 2 },
      { kind: 'appended', first: 3, last: 4 },
      { kind: 'duplicate', first: 1, last: 2 },
      { kind: 'conflict', first: 3, last: 4 },
      { kind: 'overlap', counter: 2 },
      { kind: 'appended', first: 5, last: 5 },
    ]);
  });

  it('stores once, however many ledgers send it at once', async () => {
    const session = await aSession();
    const all = countTo(3).map(() => openLedger(database.url));
    const outcomes = await Promise.all(
      countTo(30).flatMap((sequence) =>
        all.map((each) =>
          each.append({ session, events: [anEvent(String(sequence))], producer: { id: 'a', sequence } }),
        ),
      ),
    );
    await Promise.all(all.map((each) => each.stop()));
    expect(outcomes.filter((outcome) => outcome.kind === 'appended')).toHaveLength(30);
    expect(outcomes.filter((outcome) => outcome.kind === 'duplicate')).toHaveLength(60);
    expect(await storedRows(database.url, session)).toHaveLength(30);
  });

  it('is still told as a duplicate when the session was closed meanwhile', async () => {
    const session = await aSession();
    await run(session, 'a', 1, '1');
    await ledger.close(session);
    expect(await run(session, 'a', 1, '1')).toEqual({ kind: 'duplicate', first: 1, last: 1 });
    expect(await run(session, 'a', 2, '2')).toEqual({ kind: 'closed' });
  });
});

describe('a condition', () => {
  it('on the head holds against the appends before it in the same flush', async () => {
    const session = await aSession();
    const outcomes = await Promise.all([
      append(session, '1', { expectedHead: toCursor(0) }),
      append(session, '2', { expectedHead: toCursor(0) }),
      append(session, '3', { expectedHead: toCursor(1) }),
    ]);
    expect(outcomes).toMatchObject([
      { kind: 'appended', first: 1 },
      { kind: 'wrong_head', head: 1 },
      { kind: 'appended', first: 2 },
    ]);
  });

  it('on the head, alone, is refused with the head and stores nothing', async () => {
    const session = await aSession();
    await append(session, '1');
    expect(await append(session, '2', { expectedHead: toCursor(0) })).toEqual({ kind: 'wrong_head', head: 1 });
    expect(await storedRows(database.url, session)).toHaveLength(1);
  });

  it('on the turn lets only the attempt that owns it append, and extends its lease', async () => {
    const session = await aSession();
    const as = (turn: string, attempt: number, data = '1') => append(session, data, { fence: { turn, attempt } });
    expect(await as('t1', 1)).toEqual({ kind: 'fenced' });
    const lease = () =>
      withSql(
        database.url,
        (sql) => sql<{ is_leased: boolean | null }[]>`
          select lease_until > clock_timestamp() as is_leased from ledgerline.session_head where session = ${session}::text`,
      );
    await withSql(
      database.url,
      (sql) => sql`
        update ledgerline.session_head set turn_state = 'running', turn_id = 't1', fence = 3, lease_until = '-infinity'
         where session = ${session}::text`,
    );
    expect(await lease()).toMatchObject([{ is_leased: false }]);
    const outcomes = await Promise.all([as('t1', 3), as('t1', 2), as('t0', 3), append(session, '"a user"')]);
    expect(outcomes).toMatchObject([{ first: 1 }, { kind: 'fenced' }, { kind: 'fenced' }, { first: 2 }]);
    expect(await lease()).toMatchObject([{ is_leased: true }]);
    expect(await readAll(ledger, session)).toMatchObject([{ turn: 't1', attempt: 3 }, { data: 'a user' }]);
  });

  it('on a session that never was is told as unknown', async () => {
    const session = await aSession();
    expect(await Promise.all([append('never', '1'), append(session, '1')])).toMatchObject([
      { kind: 'unknown_session' },
      { kind: 'appended' },
    ]);
  });
});

describe('content that Postgres refuses', () => {
  it('is refused alone; its neighbours in the flush are stored in their order (hyperindex#1195)', async () => {
    const [one, other] = [await aSession(), await aSession()];
    const outcomes = await Promise.all(
      countTo(40).map((turn) => append(turn % 2 ? one : other, turn % 13 === 0 ? '{"broken":' : String(turn))),
    );
    expect(outcomes.map((outcome) => outcome.kind === 'refused')).toEqual(countTo(40).map((turn) => turn % 13 === 0));
    expect(outcomes[12]).toEqual({ kind: 'refused', reason: 'invalid input syntax for type json' });
    for (const [session, parity] of [
      [one, 1],
      [other, 0],
    ] as const) {
      const expected = countTo(40).filter((turn) => turn % 2 === parity && turn % 13 !== 0);
      expect((await readAll(ledger, session)).map((event) => event.data)).toEqual(expected);
    }
    expect(await append(one, '"afterwards"')).toMatchObject({ kind: 'appended' });
  });

  it('refuses its whole append and stores nothing of it', async () => {
    const session = await aSession();
    const events = ['1', '{"broken":', '3'].map((data) => anEvent(data));
    expect(await ledger.append({ session, events })).toMatchObject({ kind: 'refused' });
    expect(await storedRows(database.url, session)).toEqual([]);
  });

  it('never reaches the group when it would shift the values of others', async () => {
    const session = await aSession();
    const bad: AppendRequest[] = [
      { session: 'a,b', events: [anEvent('1')] },
      { session, events: [anEvent('1', 'a,b')] },
      { session, events: [anEvent('[1,\n2]')] },
      { session, events: [anEvent('1')], producer: { id: 'a,b', sequence: 1 } },
      { session, events: [anEvent('1')], fence: { turn: '*', attempt: 1 } },
      { session, events: [] },
    ];
    const tried = await Promise.allSettled([...bad.map((request) => ledger.append(request)), append(session, '1')]);
    expect(tried.map(({ status }) => status)).toEqual([...bad.map(() => 'rejected'), 'fulfilled']);
  });
});

it('works without prepared statements and settings of its own, as behind a pooler', async () => {
  const pooled = createLedger({
    url: database.url,
    prepare: false,
    log: silentLog,
    metrics: createMetrics(),
    clock: systemClock,
    work: sessionWork,
  });
  const [one, other] = [await aSession(), await aSession()];
  const outcomes = await Promise.all(
    countTo(20).map((turn) => pooled.append({ session: turn % 2 ? one : other, events: [anEvent(String(turn))] })),
  );
  expect(outcomes.map((outcome) => outcome.kind)).toEqual(outcomes.map(() => 'appended'));
  expect(await readAll(pooled, one)).toHaveLength(10);
  await pooled.stop();
});

describe('where the server insists on serializable transactions', () => {
  it('appends from two ledgers all go through (graphile#387)', async () => {
    const strict = await freshDatabase({ isolation: 'serializable' });
    const all = [openLedger(strict.url), openLedger(strict.url)];
    try {
      await all[0]?.create('s', {});
      const fates = await Promise.all(
        countTo(150).flatMap((turn) =>
          all.map((each, index) =>
            fateOf(
              each.append({ session: 's', events: [anEvent('1')], producer: { id: `p${index}`, sequence: turn } }),
            ),
          ),
        ),
      );
      expect(fates.filter((fate) => fate.kind !== 'appended')).toEqual([]);
      expect((await storedRows(strict.url, 's')).map((row) => row.sequence)).toEqual(countTo(300));
    } finally {
      await Promise.all(all.map((each) => each.stop()));
      await strict.drop();
    }
  });
});

it('updates heads in place: at least 95 in 100 without a new entry in any index', async () => {
  // where no other test's snapshot keeps old versions from being cleared away
  const fresh = await freshDatabase();
  onTestFinished(() => fresh.drop());
  const sessions = countTo(30).map((number) => `s-${number}`);
  await usingLedger(fresh.url, (own) => Promise.all(sessions.map((session) => own.create(session, {}))));

  const counts = () =>
    withSql(
      fresh.url,
      (sql) => sql<{ updates: number; hot: number }[]>`
        select n_tup_upd::int as updates, n_tup_hot_upd::int as hot from pg_stat_user_tables
         where schemaname = 'ledgerline' and relname = 'session_head'`,
    ).then(([row]) => row ?? { updates: 0, hot: 0 });
  const round = async (): Promise<number> => {
    const before = await counts();
    await usingLedger(fresh.url, async (own) => {
      for (const turn of countTo(40)) {
        await Promise.all(sessions.map((session) => own.append({ session, events: [anEvent(String(turn))] })));
      }
    });
    const updates = async (): Promise<number> => (await counts()).updates - before.updates;
    await expect.poll(updates, { timeout: 20_000 }).toBeGreaterThanOrEqual(1_200);
    return ((await counts()).hot - before.hot) / (await updates());
  };
  // A backend that is being born keeps old versions in every database of the server, and other tests bear many: one
  // round without them shows what the layout allows.
  const shares: number[] = [];
  while (shares.length < 8 && !shares.some((share) => share >= 0.95)) shares.push(await round());
  expect(Math.max(...shares), shares.join(', ')).toBeGreaterThanOrEqual(0.95);
});

/** Ended afterwards: a backend reports its counts at the latest when it ends. */
async function usingLedger<T>(url: string, work: (own: PostgresLedger) => Promise<T>): Promise<T> {
  const own = openLedger(url);
  try {
    return await work(own);
  } finally {
    await own.stop();
  }
}
