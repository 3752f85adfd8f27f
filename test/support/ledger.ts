/** A ledger on a database of the calling test's own, and the few words its tests repeat. */
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import { connect, disconnect } from '../../src/db/postgres.ts';
import type { Sql } from '../../src/db/postgres.ts';
import type { NewEvent } from '../../src/event/event.ts';
import { START, toCursor } from '../../src/event/sequence.ts';
import type { Cursor } from '../../src/event/sequence.ts';
import type { Outcome, Page } from '../../src/ledger/ledger.ts';
import { createLedger } from '../../src/ledger/postgres-ledger.ts';
import type { LedgerBounds, PostgresLedger } from '../../src/ledger/postgres-ledger.ts';
import { sessionWork } from '../../src/turn/session-work.ts';
import { LedgerlineError } from '../../src/base/errors.ts';

export const openLedger = (url: string, bounds: Partial<LedgerBounds> = {}): PostgresLedger =>
  createLedger({ url, log: silentLog, metrics: createMetrics(), clock: systemClock, bounds, work: sessionWork });

/** A client of the test's own: a stranger who holds heads, or an observer who looks at rows. */
export async function withSql<T>(url: string, work: (sql: Sql) => Promise<T>, connections = 1): Promise<T> {
  const sql = connect({ url, connections, name: 'test', log: silentLog });
  try {
    return await work(sql);
  } finally {
    await disconnect(sql, 1_000);
  }
}

export const anEvent = (data: string, type = 'text.delta'): NewEvent => ({
  type,
  data,
  bytes: Buffer.byteLength(data),
});

/** A head that was locked, until it is let go. */
export interface Stranger {
  release(): Promise<void>;
}

/** Somebody else's transaction that holds the heads of these sessions. */
export async function holdHeads(url: string, ...sessions: string[]): Promise<Stranger> {
  const sql = connect({ url, connections: 1, name: 'stranger', log: silentLog });
  await sql`begin`;
  await sql`select from ledgerline.session_head where session in ${sql(sessions)} order by session for update`;
  return {
    async release() {
      await sql`commit`;
      await disconnect(sql, 1_000);
    },
  };
}

export interface StoredRow {
  readonly sequence: number;
  readonly type: string;
  readonly data: string;
  readonly producer_id: string | null;
  readonly producer_sequence: number | null;
}

export const storedRows = (url: string, session: string): Promise<StoredRow[]> =>
  withSql(
    url,
    (sql) => sql<StoredRow[]>`
      select sequence, type, payload::text as data, producer_id, producer_sequence
        from ledgerline.event where session = ${session}::text order by sequence`,
  );

export const textOf = (page: Page): string => page.pieces.map(({ bytes }) => bytes.toString()).join('');

/** All of a session, page by page, as the envelopes' values. */
export async function readAll(ledger: PostgresLedger, session: string): Promise<{ sequence: number; data: unknown }[]> {
  const layout = { open: '', middle: ' ', close: '\n' };
  const lines: string[] = [];
  let cursor: Cursor = START;
  for (;;) {
    const page = await ledger.page(session, cursor, toCursor(Number.MAX_SAFE_INTEGER), layout);
    if (page.last === cursor) break;
    lines.push(...textOf(page).trimEnd().split('\n'));
    cursor = page.last;
  }
  return lines.map((line) => JSON.parse(line.slice(line.indexOf(' '))) as { sequence: number; data: unknown });
}

/** 1 to n. */
export const countTo = (n: number): number[] => Array.from({ length: n }, (_, index) => index + 1);

/** What became of an append, an error's code included. */
export async function fateOf(append: Promise<Outcome>): Promise<Outcome | { kind: 'error'; code: string }> {
  try {
    return await append;
  } catch (error) {
    if (error instanceof LedgerlineError) return { kind: 'error', code: error.code };
    throw error;
  }
}
