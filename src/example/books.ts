/** The two books of the example, to lay side by side: every refund that was issued, and every entry that was posted. */
import type { Statements } from '../db/postgres.ts';

export interface RefundRow {
  /** The step key. */
  readonly key: string;
  readonly order: string;
  readonly cents: number;
  /** `2026-11-30T04:00:00.000Z`. */
  readonly at: string;
}

export interface EntryRow {
  /** The refund's key. */
  readonly refund: string;
  readonly order: string;
  readonly cents: number;
  readonly at: string;
}

export const readRefunds = (sql: Statements): Promise<RefundRow[]> =>
  sql<RefundRow[]>`
    select refund_key as key, order_id as "order", cents, to_char(issued_at at time zone 'UTC', ${ISO}::text) as at
      from example.refund order by issued_at, refund_key`.then((rows) => [...rows]);

export const readEntries = (sql: Statements): Promise<EntryRow[]> =>
  sql<EntryRow[]>`
    select refund_key as refund, order_id as "order", cents, to_char(posted_at at time zone 'UTC', ${ISO}::text) as at
      from example.entry order by entry_id`.then((rows) => [...rows]);

const ISO = 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"';
