/** What was stored leaves as it came, in pages that are bounded in rows and in bytes. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { silentLog } from '../../src/base/log.ts';
import { limits } from '../../src/base/limits.ts';
import { connect, disconnect } from '../../src/db/postgres.ts';
import type { Sql } from '../../src/db/postgres.ts';
import { envelope } from '../../src/event/event.ts';
import type { NewEvent } from '../../src/event/event.ts';
import { START, toCursor } from '../../src/event/sequence.ts';
import type { PostgresLedger } from '../../src/ledger/postgres-ledger.ts';
import { readHistory, readPage } from '../../src/ledger/read.ts';
import { eventFrame, eventLayout } from '../../src/sse/frame.ts';
import { jsonText } from '../support/json-texts.ts';
import { anEvent, countTo, openLedger, storedRows, textOf, withSql } from '../support/ledger.ts';
import { freshDatabase } from '../support/services.ts';
import type { FreshDatabase } from '../support/services.ts';
import { eventually } from '../support/waits.ts';

let database: FreshDatabase;
let ledger: PostgresLedger;
let created = 0;
const end = toCursor(Number.MAX_SAFE_INTEGER);

async function aSession(): Promise<string> {
  const session = `s-${(created += 1)}`;
  await ledger.create(session, {});
  return session;
}

/** Rows of equal size, the first written by the database itself and the rest copied from it as it is stored. */
async function fill(session: string, rows: number, bytes: number): Promise<void> {
  await withSql(database.url, async (sql) => {
    await sql`
      insert into ledgerline.event (session, sequence, type, payload, bytes, created_at)
      values (${session}::text, 1, 'text.delta', ('"' || repeat('x', ${bytes - 2}::int) || '"')::json, ${bytes}::int, clock_timestamp())`;
    await sql`
      insert into ledgerline.event (session, sequence, type, payload, bytes, created_at)
      select session, i, type, payload, bytes, created_at
        from ledgerline.event, generate_series(2, ${rows}::int) i where session = ${session}::text and sequence = 1`;
    await sql`update ledgerline.session_head set last_sequence = ${rows}::bigint where session = ${session}::text`;
  });
}

beforeAll(async () => {
  database = await freshDatabase();
  ledger = openLedger(database.url);
});
afterAll(async () => {
  await ledger.stop();
  await database.drop();
});

describe('a payload [I2]', () => {
  const peculiar = [
    '"\\u0000"', // kodus-ai PR#1683
    '"\\ud83d"', // rakazo#416: half an emoji
    '"\\uDE00 and \\ud83d"',
    '{"n":9007199254740993}', // node-postgres#2385
    '-0',
    '1.0',
    '1e400',
    '{"b":1,"a":2,"b":3}',
    '{"z":{"b":[],"a":{}}, "a" :\t1}',
    '"\ufeffmarked"',
    '"\u2028\u2029\u0085"',
    '"\u007f"',
    '"x"',
    '"{}"',
    'null',
    '0',
    '[]',
    '"*"',
    '"a,b"',
    '"😀"',
    ' {"a" : 1} ',
    `${'['.repeat(limits.jsonDepth)}${']'.repeat(limits.jsonDepth)}`,
    JSON.stringify('é'.repeat(limits.payloadBytes / 2 - 1)),
  ];

  it('comes back byte for byte, by the plain statement', async () => {
    const session = await aSession();
    for (const data of peculiar) await ledger.append({ session, events: [anEvent(data)] });
    expect((await storedRows(database.url, session)).map((row) => row.data)).toEqual(peculiar);
  });

  it('comes back byte for byte, by the stamp', async () => {
    const [session, other] = [await aSession(), await aSession()];
    await Promise.all(
      peculiar.flatMap((data) => [
        ledger.append({ session, events: [anEvent(data)] }),
        ledger.append({ session: other, events: [anEvent(data)] }),
      ]),
    );
    expect((await storedRows(database.url, session)).map((row) => row.data)).toEqual(peculiar);
    expect((await storedRows(database.url, other)).map((row) => row.data)).toEqual(peculiar);
  });
});

describe('an event', () => {
  const oneLine = jsonText.map((text) => text.replaceAll(/[\r\n]/g, ' '));
  const type = fc.stringMatching(/^[a-z0-9._-]{1,64}$/);

  it('is laid out in SQL as event/event.envelope() and sse/frame lay it out, byte for byte', async () => {
    const session = await aSession();
    let cursor = START;
    await withSql(database.url, (sql) =>
      fc.assert(
        fc.asyncProperty(
          fc.array(fc.record({ data: oneLine, type }), { minLength: 1, maxLength: 20 }),
          fc.option(fc.record({ turn: fc.stringMatching(/^[A-Za-z0-9._:-]{1,40}$/), attempt: fc.nat() }), {
            nil: undefined,
          }),
          async (drawn, fence) => {
            if (fence !== undefined) {
              await sql`
                update ledgerline.session_head
                   set turn_state = 'running', turn_id = ${fence.turn}::text, fence = ${fence.attempt}::bigint, lease_until = clock_timestamp()
                 where session = ${session}::text`;
            }
            const events: NewEvent[] = drawn.map((each) => anEvent(each.data, each.type));
            const outcome = await ledger.append({ session, events, ...(fence && { fence }) });
            if (outcome.kind !== 'appended') throw new Error(outcome.kind);
            const { at } = outcome;
            const frames = events.map((event, index) => {
              const sequence = (outcome.first + index) as typeof outcome.first;
              return eventFrame(sequence, envelope({ sequence, at, ...fence, type: event.type, data: event.data }));
            });
            const page = await ledger.page(session, cursor, end, eventLayout);
            expect(textOf(page)).toBe(frames.join(''));
            const history = await ledger.history(session, { after: cursor, limit: 100 });
            expect(
              history.events.map((text, index) => eventFrame((outcome.first + index) as typeof outcome.first, text)),
            ).toEqual(frames);
            cursor = page.last;
          },
        ),
        { numRuns: 150 },
      ),
    );
  });
});

describe('a page', () => {
  it('ends after its most rows and says so', async () => {
    const session = await aSession();
    await fill(session, limits.pageRows * 2 + 1, 20);
    const first = await ledger.page(session, START, end, eventLayout);
    expect(first).toMatchObject({ after: 0, last: limits.pageRows, cut: 'rows' });
    const second = await ledger.page(session, first.last, toCursor(limits.pageRows * 2), eventLayout);
    expect(second).toMatchObject({ last: limits.pageRows * 2, cut: 'end' });
    const third = await ledger.page(session, second.last, end, eventLayout);
    expect(third).toMatchObject({ last: limits.pageRows * 2 + 1, cut: 'end' });
  });

  it('ends before its bytes are passed and says so', async () => {
    const session = await aSession();
    await fill(session, 100, limits.pageBytes / 8);
    const page = await ledger.page(session, START, end, eventLayout);
    expect(page).toMatchObject({ last: 8, cut: 'bytes' });
    expect(await ledger.page(session, START, toCursor(8), eventLayout)).toMatchObject({ last: 8, cut: 'end' });
  });

  it('has at least one event, however large', async () => {
    const session = await aSession();
    await fill(session, 3, limits.pageBytes * 2);
    const page = await ledger.page(session, toCursor(1), end, eventLayout);
    expect(page).toMatchObject({ after: 1, last: 2, cut: 'bytes' });
    expect(page.bytes).toBeGreaterThan(limits.pageBytes * 2);
  });

  it('of a thousand events of 1 MiB fetches one of them', async () => {
    const session = await aSession();
    await fill(session, 1_000, 1024 * 1024);
    const before = process.memoryUsage().rss;
    const pages = await Promise.all(countTo(20).map((at) => ledger.page(session, toCursor(at * 40), end, eventLayout)));
    expect(pages.map((page) => [page.last - page.after, page.cut])).toEqual(pages.map(() => [1, 'bytes']));
    expect(process.memoryUsage().rss - before).toBeLessThan(256 * 1024 * 1024);
  });

  it('is empty where there is nothing after the cursor', async () => {
    const session = await aSession();
    await fill(session, 3, 20);
    expect(await ledger.page(session, toCursor(3), end, eventLayout)).toMatchObject({ after: 3, last: 3, cut: 'end' });
    expect(await ledger.page(session, toCursor(9), end, eventLayout)).toMatchObject({ after: 9, last: 9, cut: 'end' });
    expect(await ledger.page('never', START, end, eventLayout)).toMatchObject({ after: 0, last: 0, cut: 'end' });
  });

  it('never begins behind a hole: below the floor it is empty', async () => {
    const session = await aSession();
    await fill(session, 10, 20);
    await withSql(
      database.url,
      (sql) => sql`update ledgerline.session_head set floor = 4 where session = ${session}::text`,
    );
    expect(await ledger.page(session, toCursor(2), end, eventLayout)).toMatchObject({ last: 2, cut: 'end' });
    expect(await ledger.page(session, toCursor(4), end, eventLayout)).toMatchObject({ last: 10, cut: 'end' });
  });

  it('keeps little more alive than itself, where the driver hands over views of what a socket gave it [I6]', async () => {
    const chunk = Buffer.alloc(limits.pieceBytes);
    const [text, one] = [chunk.subarray(100, 400), Buffer.from('1')];
    const sql = (() => ({ raw: () => Promise.resolve([[text, one, one, one]]) })) as unknown as Sql;
    const { pieces } = await readPage(sql, 'any', START, toCursor(1), eventLayout);
    // Not even the pool that Node takes small buffers from: 8 KiB in Node 20, 64 in 24.
    expect(pieces.map(({ bytes }) => bytes.equals(text) && bytes.buffer.byteLength)).toEqual([text.length]);
  });

  it('comes in pieces of whole frames that follow one another, each with little else in its memory [I6]', async () => {
    const session = await aSession();
    await fill(session, 1_000, 500);
    const page = await ledger.page(session, START, end, eventLayout);
    expect(page.pieces.length).toBeGreaterThan(5);
    let last = page.after;
    for (const piece of page.pieces) {
      expect(piece.after).toBe(last);
      const frames = piece.bytes.toString().split('\n\n').slice(0, -1);
      expect(frames.map((frame) => Number(/^id: (\d+)\n/.exec(frame)?.[1]))).toEqual(
        countTo(piece.last - piece.after).map((count) => piece.after + count),
      );
      expect(piece.bytes.length).toBeLessThan(limits.pieceBytes * 1.1);
      expect(piece.bytes.buffer.byteLength).toBeLessThan(piece.bytes.length + 100);
      last = piece.last;
    }
    expect(last).toBe(page.last);
    expect(textOf(page)).toHaveLength(page.bytes);
  });

  it('has a piece for an event that is larger than one, however small those before it are', async () => {
    const session = await aSession();
    const data = (bytes: number) => anEvent(JSON.stringify('x'.repeat(bytes)));
    await ledger.append({ session, events: [data(1), data(limits.pieceBytes * 3), data(1)] });
    const { pieces } = await ledger.page(session, START, end, eventLayout);
    expect(pieces.map((piece) => [piece.after, piece.last])).toEqual([
      [0, 1],
      [1, 3],
    ]);
  });

  it('yields nothing of another session (frontmcp GHSA-84j6-jc92-77jm)', async () => {
    const [one, other] = [await aSession(), await aSession()];
    await fill(one, 5, 20);
    expect((await ledger.page(other, START, end, eventLayout)).pieces).toEqual([]);
    expect((await ledger.history(other, { limit: 10 })).events).toEqual([]);
  });
});

it('a page is read beside any number of requests for history that wait [I9]', async () => {
  const session = await aSession();
  await fill(session, 3, 20);
  const stranger = connect({ url: database.url, connections: 1, name: 'stranger', log: silentLog });
  onTestFinished(() => disconnect(stranger, 1_000));
  await stranger`begin`;
  await stranger`lock table ledgerline.event in access exclusive mode`;
  const history = countTo(100).map(() => ledger.history(session, { limit: 10 }));
  const page = ledger.page(session, START, toCursor(3), eventLayout);
  await eventually('the page has reached Postgres', async () => {
    const waiting = await withSql(
      database.url,
      (sql) => sql`select from pg_stat_activity where wait_event_type = 'Lock' and query like '%string_agg%'`,
    );
    return waiting.length === 1;
  });
  await stranger`commit`;
  expect((await page).last).toBe(3);
  await Promise.all(history);
});

describe('history', () => {
  const sequencesOf = (page: { events: readonly string[] }): number[] =>
    page.events.map((text) => (JSON.parse(text) as { sequence: number }).sequence);

  it('goes forwards and backwards with the same integer', async () => {
    const session = await aSession();
    await fill(session, 10, 20);
    const forwards = await ledger.history(session, { after: toCursor(3), limit: 3 });
    expect([sequencesOf(forwards), forwards.first, forwards.last]).toEqual([[4, 5, 6], 4, 6]);
    const backwards = await ledger.history(session, { before: toCursor(4), limit: 2 });
    expect([sequencesOf(backwards), backwards.first, backwards.last]).toEqual([[2, 3], 2, 3]);
    const between = await ledger.history(session, { after: toCursor(3), before: toCursor(6), limit: 9 });
    expect(sequencesOf(between)).toEqual([4, 5]);
    const nothing = await ledger.history(session, { after: toCursor(10), limit: 9 });
    expect(nothing).toEqual({
      events: [],
      first: undefined,
      last: undefined,
      head: { head: 10, floor: 0, state: 'open' },
    });
  });

  it('of a session that nobody created has neither events nor a head', async () => {
    expect(await ledger.history('nobody', { limit: 9 })).toEqual({
      events: [],
      first: undefined,
      last: undefined,
      head: undefined,
    });
  });

  it('ends where its head is, whatever is appended meanwhile', async () => {
    for (const session of [await aSession(), await aSession(), await aSession()]) {
      let isOver = false;
      const pages = countTo(4).map(async () => {
        while (!isOver) {
          const newest = { before: toCursor(Number.MAX_SAFE_INTEGER), limit: 3 };
          const { last, head } = await ledger.history(session, newest);
          expect(last ?? 0).toBe(head?.head);
        }
      });
      for (let count = 0; count < 50; count += 1) await ledger.append({ session, events: [anEvent('x')] });
      isOver = true;
      await Promise.all(pages);
    }
  });

  it('is bounded in bytes, nearest first, and has at least one event', async () => {
    const session = await aSession();
    await fill(session, 10, limits.historyBytes / 2);
    expect(sequencesOf(await ledger.history(session, { after: START, limit: 9 }))).toEqual([1, 2]);
    expect(sequencesOf(await ledger.history(session, { before: toCursor(9), limit: 9 }))).toEqual([7, 8]);
    const huge = await aSession();
    await fill(huge, 3, limits.historyBytes + 1);
    expect(sequencesOf(await ledger.history(huge, { before: toCursor(3), limit: 9 }))).toEqual([2]);
  });
});

describe('of a long session no more is read than is answered', () => {
  let session: string;
  beforeAll(async () => {
    session = await aSession();
    await fill(session, 200_000, 20);
  });

  /** How many events one statement fetches, on a connection like the ledger's own. */
  const fetched = (read: (sql: Sql) => Promise<unknown>): Promise<number> =>
    withSql(database.url, async (sql) => {
      await sql`set enable_seqscan = off`;
      await sql`set enable_bitmapscan = off`;
      await sql`begin`;
      await read(sql);
      const [row] = await sql<{ events: number }[]>`
        select idx_tup_fetch as events from pg_stat_xact_user_tables where relname = 'event'`;
      return row?.events ?? 0;
    });

  it.each(['without statistics', 'with statistics'])('%s', async (statistics) => {
    if (statistics === 'with statistics') await withSql(database.url, (sql) => sql`analyze`);
    const page = (sql: Sql) => readPage(sql, session, toCursor(9_000), toCursor(10_000), eventLayout);
    const forwards = (sql: Sql) => readHistory(sql, session, { after: toCursor(100), limit: 50 });
    const backwards = (sql: Sql) => readHistory(sql, session, { before: toCursor(19_000), limit: 50 });
    expect(await fetched(page)).toBe(1_000);
    expect(await fetched(forwards)).toBe(50);
    expect(await fetched(backwards)).toBe(50);
  });
});
