/** Heads: where sessions' ledgers end, for one session or for all open rooms in one query. */
import { toCursor } from '../event/sequence.ts';
import type { Sql } from '../db/postgres.ts';
import type { Head, SessionState } from './ledger.ts';

export interface HeadRow {
  readonly session: string;
  readonly last_sequence: number;
  readonly floor: number;
  readonly state: SessionState;
}

export function toHead(row: HeadRow): Head {
  return { head: toCursor(row.last_sequence), floor: toCursor(row.floor), state: row.state };
}

/** Ids hold no comma, so that one text carries any number of them in one parameter. */
export async function readHeads(sql: Sql, sessions: readonly string[]): Promise<Map<string, Head>> {
  if (sessions.length === 0) return new Map();
  const rows = await sql<HeadRow[]>`
    select h.session, h.last_sequence, h.floor, h.state
      from ledgerline.session_head h
     where h.session = any (string_to_array(${sessions.join(',')}::text, ','))`;
  return new Map(rows.map((row) => [row.session, toHead(row)]));
}
