/**
 * Whether an append costs more when much is stored.
 *
 * Method. Appends one after another, to a hundred sessions in turn, each of one event of about 165 bytes; with next to nothing stored,
 * and beside the events of ten thousand other sessions. Postgres counts the buffers that it touched of every table and index of ours,
 * and its log tells what every record in it is made of. Autovacuum is off; a checkpoint and unmeasured appends come before each count.
 *
 * What may differ. An index's descent reads a page for each of its levels, of which a tree has one more for each three hundred times
 * as many entries: so a descent is counted once, however deep, and the levels stand beside it. And Postgres logs a page whole at its first
 * change after a checkpoint, which says how long ago that was: so the log is counted without those images. What is left is to be equal.
 *
 * It stops its Postgres in between, so it has one of its own whatever server is given. What is stored is put there in one transaction into
 * empty tables, indexed at the end, at `wal_level=minimal`, which logs none of it.
 */
import { fill, withLedger } from '../load/history.ts';
import { stampedData } from '../peers/payload.ts';
import { countTo, progress, rounded } from '../report.ts';
import type { Options, Report, Row } from '../report.ts';
import { onDatabase, openOwnDatabase } from '../services/database.ts';
import { changed, readCounters } from '../services/postgres-counters.ts';

const SESSIONS = 100;
const EVENTS_OF_SESSION = 1_000;
/** What a page more in a thousand appends is: a split that came to lie on one side. */
const SAME = 1.02;

/** Of one append. */
interface Cost {
  readonly buffers: number;
  /** Each descent of an index as one. */
  readonly touched: number;
  readonly walBytes: number;
  readonly imageBytes: number;
  readonly levels: string;
}

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
  const before = await readCounters(url);
  await append(url, sessions, appends);
  const { relations, walBytes, imageBytes } = await changed(url, before);
  const sum = (count: (relation: (typeof relations)[number]) => number): number =>
    relations.reduce((total, relation) => total + count(relation), 0) / appends;
  return {
    buffers: sum(({ buffers }) => buffers),
    touched: sum(({ buffers, levels }) => buffers / levels),
    walBytes: walBytes / appends,
    imageBytes: imageBytes / appends,
    levels: relations
      .filter(({ isIndex, buffers }) => isIndex && buffers >= appends)
      .map(({ name, levels }) => `${name} ${levels}`)
      .join(', '),
  };
}

async function store(url: string, events: number): Promise<void> {
  const data = stampedData();
  const sessions = events / EVENTS_OF_SESSION;
  await onDatabase(url, (sql) =>
    sql.begin(async (tx) => {
      await tx`set local maintenance_work_mem = '512MB'`;
      // Made in this transaction, they are synced as files at its end instead of being logged row by row.
      await tx`truncate ledgerline.event, ledgerline.session_head, ledgerline.session cascade`;
      const [key] = await tx<{ definition: string }[]>`
        select pg_get_constraintdef(oid) as definition from pg_constraint where conname = 'event_pkey'`;
      await tx`alter table ledgerline.event drop constraint event_pkey`;
      await tx`insert into ledgerline.session (session) select 'past-' || n from generate_series(1, ${sessions}::int) n`;
      await tx`
        insert into ledgerline.session_head (session, last_sequence)
        select session, ${EVENTS_OF_SESSION}::bigint from ledgerline.session`;
      await tx`
        insert into ledgerline.event (session, sequence, type, payload, bytes, created_at)
        select session, i, 'text.delta', ${data}::text::json, ${data.length}::int, now()
          from ledgerline.session, generate_series(1, ${EVENTS_OF_SESSION}::bigint) i`;
      await tx.unsafe(`alter table ledgerline.event add constraint event_pkey ${key?.definition}`);
    }),
  );
  await onDatabase(url, (sql) => sql`analyze`);
}

export async function run({ quick }: Options): Promise<Report> {
  const [events, appends] = quick ? [1_000_000, 2_000] : [10_000_000, 10_000];
  const database = await openOwnDatabase();
  try {
    await database.restart({ autovacuum: 'off' });
    const none = await cost(database.url, 'none', appends);
    await database.restart({ wal_level: 'minimal', max_wal_senders: '0', max_wal_size: '16GB' });
    progress(`storing ${events.toLocaleString('en')} events`);
    await store(database.url, events);
    await database.restart({ wal_level: 'replica' });
    const many = await cost(database.url, 'many', appends);
    const row = (stored: string, seen: Cost): Row => ({
      'events stored': stored,
      'buffers an append': rounded(seen.buffers),
      'each descent as one': rounded(seen.touched),
      'WAL bytes an append': Math.round(seen.walBytes),
      'without page images': Math.round(seen.walBytes - seen.imageBytes),
      'levels of the indexes': seen.levels,
    });
    const logged = ({ walBytes, imageBytes }: Cost): number => walBytes - imageBytes;
    return {
      name: 'An append beside much that is stored',
      method:
        'Postgres’s counts for single appends to a hundred sessions, with next to nothing stored and beside the events of many other sessions. An index’s descent is a page for each of its levels: the third column counts it once. A page’s first change after a checkpoint logs it whole: the fifth column is without these images.',
      rows: [row('none', none), row(events.toLocaleString('en'), many)],
      targets: [
        {
          what: `buffers an append, each descent as one: equal at none and at ${events.toLocaleString('en')}, within 2 %`,
          seen: many.touched / none.touched,
          atMost: SAME,
        },
        {
          what: `WAL an append without page images: equal at none and at ${events.toLocaleString('en')}, within 2 %`,
          seen: logged(many) / logged(none),
          atMost: SAME,
        },
      ],
    };
  } finally {
    await database.close();
  }
}
