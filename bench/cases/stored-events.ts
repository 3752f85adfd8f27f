/**
 * Whether an append costs more when much is stored.
 *
 * Method. Appends one after another, to a hundred sessions in turn, each of one event of about 165 bytes; Postgres's own counts of
 * the buffers that it touched and the bytes of WAL that it wrote, divided by the appends. First with nothing stored, then beside
 * 10 million events of ten thousand other sessions, vacuumed. Autovacuum is off, a checkpoint and unmeasured appends come
 * before each count, so that no page's first change since a checkpoint is in it.
 */
import { fill, withLedger } from '../load/history.ts';
import { stampedData } from '../peers/payload.ts';
import { countTo, rounded } from '../report.ts';
import type { Options, Report, Row } from '../report.ts';
import { onDatabase, openDatabase } from '../services/database.ts';

const SESSIONS = 100;

interface Cost {
  readonly buffers: number;
  readonly walBytes: number;
}

interface Counts {
  readonly buffers: number;
  readonly wal: number;
}

/** What a connection has touched is counted when it ends. */
const countsOf = (url: string): Promise<Counts> =>
  onDatabase(url, async (sql) => {
    const [row] = await sql<Counts[]>`
      select blks_hit + blks_read as buffers, pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint as wal
        from pg_stat_database where datname = current_database()`;
    return row ?? { buffers: Number.NaN, wal: Number.NaN };
  });

async function append(url: string, sessions: readonly string[], count: number): Promise<void> {
  const data = stampedData();
  const event = { type: 'text.delta', data, bytes: Buffer.byteLength(data) };
  await withLedger(url, async (ledger) => {
    for (let sent = 0; sent < count; sent += 1) {
      await ledger.append({ session: sessions[sent % sessions.length] ?? '', events: [event] });
    }
  });
}

async function cost(url: string, prefix: string, appends: number): Promise<Cost> {
  const sessions = countTo(SESSIONS).map((number) => `${prefix}-${number}`);
  await withLedger(url, (ledger) => fill(ledger, sessions, 1));
  await onDatabase(url, (sql) => sql`checkpoint`);
  await append(url, sessions, SESSIONS * 5);
  const before = await countsOf(url);
  await append(url, sessions, appends);
  const after = await countsOf(url);
  return { buffers: (after.buffers - before.buffers) / appends, walBytes: (after.wal - before.wal) / appends };
}

async function store(url: string, events: number): Promise<void> {
  const [each, data] = [1_000, stampedData()];
  await onDatabase(url, async (sql) => {
    for (let stored = 0; stored < events; stored += each * 500) {
      await sql`
        with s as (insert into ledgerline.session (session)
                   select ${`past-${stored}-`}::text || n from generate_series(1, 500) n returning session),
             h as (insert into ledgerline.session_head (session, last_sequence)
                   select session, ${each}::bigint from s returning session)
        insert into ledgerline.event (session, sequence, type, payload, bytes, created_at)
        select h.session, i, 'text.delta', ${data}::text::json, ${data.length}::int, clock_timestamp()
          from h, generate_series(1, ${each}::bigint) i`;
      if (stored % (each * 5_000) === 0)
        console.error(`  ${stored.toLocaleString('en')} of ${events.toLocaleString('en')} stored`);
    }
    await sql`vacuum analyze`;
  });
}

export async function run({ quick }: Options): Promise<Report> {
  const [events, appends] = quick ? [1_000_000, 2_000] : [10_000_000, 10_000];
  const database = await openDatabase();
  try {
    await onDatabase(database.url, async (sql) => {
      await sql`alter system set autovacuum = off`;
      await sql`select pg_reload_conf()`;
    });
    const none = await cost(database.url, 'none', appends);
    await store(database.url, events);
    const many = await cost(database.url, 'many', appends);
    const row = (stored: number, { buffers, walBytes }: Cost): Row => ({
      'events stored': stored.toLocaleString('en'),
      'buffers an append': rounded(buffers),
      'WAL bytes an append': Math.round(walBytes),
    });
    return {
      name: 'An append beside much that is stored',
      method:
        'Postgres’s counts for single appends, with nothing stored and beside the events of ten thousand other sessions.',
      rows: [row(0, none), row(events, many)],
      targets: [
        // A tree is a level higher or two where it holds more: that is a buffer or two for each index.
        { what: 'buffers an append: at most 5 more', seen: many.buffers - none.buffers, atMost: 5 },
        { what: 'WAL an append: at most 1.1 times', seen: many.walBytes / none.walBytes, atMost: 1.1 },
      ],
    };
  } finally {
    await database.close();
  }
}
