/** What Postgres counts of its own work: buffers of every table and index of ours that is touched, and what its log is made of. */
import { onDatabase } from './database.ts';

export interface Relation {
  readonly name: string;
  readonly isIndex: boolean;
  /** Touched, in memory or not. */
  readonly buffers: number;
  /** Pages of one descent, the leaf's among them; 1 of a table. */
  readonly levels: number;
}

export interface Counters {
  readonly relations: readonly Relation[];
  readonly walPosition: string;
}

export interface Change {
  /** Those that were touched. */
  readonly relations: readonly Relation[];
  readonly walBytes: number;
  /** Of them: pages that were logged whole. */
  readonly imageBytes: number;
}

/** Makes the extensions that it reads by. What a connection has done is counted when it has ended. */
export const readCounters = (url: string): Promise<Counters> =>
  onDatabase(url, async (sql) => {
    await sql`create extension if not exists pageinspect`;
    await sql`create extension if not exists pg_walinspect`;
    const relations = await sql<Relation[]>`
      select relname as name, false as "isIndex", 1 as levels, heap_blks_hit + heap_blks_read as buffers
        from pg_statio_user_tables where schemaname = 'ledgerline'
      union all
      select indexrelname, true, (bt_metap(format('%I.%I', schemaname, indexrelname))).fastlevel + 1, idx_blks_hit + idx_blks_read
        from pg_statio_user_indexes where schemaname = 'ledgerline'
       order by name`;
    const [at] = await sql<{ position: string }[]>`select pg_current_wal_flush_lsn()::text as position`;
    return { relations, walPosition: at?.position ?? '' };
  });

/** Since `before`. */
export async function changed(url: string, before: Counters): Promise<Change> {
  const after = await readCounters(url);
  const buffersBefore = new Map(before.relations.map(({ name, buffers }) => [name, buffers]));
  const relations = after.relations
    .map((relation) => ({ ...relation, buffers: relation.buffers - (buffersBefore.get(relation.name) ?? 0) }))
    .filter(({ buffers }) => buffers > 0);
  const [wal] = await onDatabase(
    url,
    (sql) => sql<{ bytes: number; images: number }[]>`
      select sum(combined_size)::bigint as bytes, sum(fpi_size)::bigint as images
        from pg_get_wal_stats(${before.walPosition}::text::pg_lsn, ${after.walPosition}::text::pg_lsn)`,
  );
  return { relations, walBytes: wal?.bytes ?? Number.NaN, imageBytes: wal?.images ?? Number.NaN };
}
