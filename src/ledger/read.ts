/** Pages of events: laid out by Postgres into one text, cut by rows and by bytes before a payload is fetched. */
import { limits } from '../base/limits.ts';
import { START, toCursor, toSequence } from '../event/sequence.ts';
import type { Cursor, Sequence } from '../event/sequence.ts';
import type { Sql } from '../db/postgres.ts';
import { toHead } from './head.ts';
import type { HeadRow } from './head.ts';
import type { HistoryPage, HistoryRange, Layout, Page, Piece } from './ledger.ts';

/**
 * The same text as `event/event.envelope`, byte for byte [I2]. The payload is read as text and nothing else: JSON
 * operators fail on `\u0000`.
 */
const envelope = (sql: Sql) => sql`
  '{"sequence":' || e.sequence || ',"type":"' || e.type || '","at":"' || ledgerline.utc_text(e.created_at) || '"'
  || case when e.turn_id is null then '' else ',"turn":"' || e.turn_id || '","attempt":' || e.attempt end
  || ',"data":' || e.payload::text || '}'`;

/**
 * Where a session's events begin for readers who have everything up to `after`. A value and no join with the head: then the
 * order of the index is the only way there is, while a join could be sorted, which reads a long session whole for one
 * page [bench].
 */
const beginning = (sql: Sql, session: string, after: Cursor) => sql`
  greatest(${after}::bigint, (select h.floor from ledgerline.session_head h where h.session = ${session}::text))`;

/** What lies around the payload in a token delta's frame. A piece is about as large as it should be, whatever lies there. */
const AROUND_BYTES = 100;

/**
 * The events in (after, to]. `measured` holds its payloads as references to where they are stored, so that
 * 1,000 rows of 1 MiB cost 1 MiB and not a gigabyte [bench]. A row of the answer is a piece, so that what came from the socket is what goes
 * to the readers' without a copy.
 */
export async function readPage(sql: Sql, session: string, after: Cursor, to: Cursor, layout: Layout): Promise<Page> {
  const rows = (await sql`
    with candidate as materialized (
      select e.*
        from ledgerline.event e
       where e.session = ${session}::text
         and e.sequence > ${beginning(sql, session, after)} and e.sequence <= ${to}::bigint
       order by e.sequence
       limit ${limits.pageRows}::int
    ), measured as (
      select c.*, sum(c.bytes) over (order by c.sequence rows unbounded preceding) as bytes_so_far from candidate c
    )
    select string_agg(${layout.open}::text || e.sequence || ${layout.middle}::text || ${envelope(sql)} || ${layout.close}::text, ''
                      order by e.sequence),
           count(*), max(e.sequence), (select count(*) from candidate)
      from measured e
     where e.bytes_so_far <= ${limits.pageBytes}::int or e.sequence = ${after}::bigint + 1
     group by (e.bytes_so_far + ${AROUND_BYTES}::int * (e.sequence - ${after}::bigint)) / ${limits.pieceBytes}::int
     order by max(e.sequence)`.raw()) as unknown as readonly PieceRow[];
  const pieces: Piece[] = [];
  let [last, bytes, taken] = [after, 0, 0];
  for (const [text, count, end] of rows) {
    const begin = last;
    last = toCursor(Number(end));
    pieces.push({ after: begin, last, bytes: detached(text) });
    bytes += text.length;
    taken += Number(count);
  }
  // Fewer rows than numbers: the lowest are gone, because retention or deletion came first. Then nothing is a page.
  if (last - after !== taken) return { after, last: after, cut: 'end', bytes: 0, pieces: [] };
  const found = Number(rows[0]?.[3] ?? 0);
  const isShort = last < to;
  return {
    after,
    last,
    cut: taken < found ? 'bytes' : isShort && found === limits.pageRows ? 'rows' : 'end',
    bytes,
    pieces,
  };
}

/** Its frames, their count, the last one's sequence, and how many events were looked at for the page. */
type PieceRow = readonly [Buffer, Buffer, Buffer, Buffer];

/**
 * The driver's buffer is a view of what came from the socket; a small piece must not keep a large one alive [I6]. Nor Node's pool, out of
 * which `Buffer.from` takes what is small: up to 4 KiB of 8 in Node 20, up to 32 of 64 in 24.
 */
function detached(view: Buffer): Buffer {
  if (view.length * 2 >= view.buffer.byteLength) return view;
  const own = Buffer.allocUnsafeSlow(view.length);
  view.copy(own);
  return own;
}

interface HistoryRow extends HeadRow {
  readonly sequence: number | null;
  readonly event: string;
}

/**
 * A page of history in either direction, in ascending order. The head comes with it in one statement, so of one moment:
 * with a head that was read later, an empty page told its reader that what was stored in between had been seen.
 */
export async function readHistory(sql: Sql, session: string, range: HistoryRange): Promise<HistoryPage> {
  const isBackward = range.after === undefined && range.before !== undefined;
  const order = isBackward ? sql`desc` : sql`asc`;
  const rows = await sql<HistoryRow[]>`
    with candidate as materialized (
      select e.*
        from ledgerline.event e
       where e.session = ${session}::text
         and e.sequence > ${beginning(sql, session, range.after ?? START)}
         and e.sequence < ${range.before ?? Number.MAX_SAFE_INTEGER}::bigint
       order by e.sequence ${order}
       limit ${Math.min(range.limit, limits.historyRows)}::int
    ), measured as (
      select c.*, row_number() over nearest as place, sum(c.bytes) over nearest as bytes_so_far
        from candidate c
      window nearest as (order by c.sequence ${order} rows unbounded preceding)
    ), taken as (
      select e.sequence, ${envelope(sql)} as event
        from measured e
       where e.bytes_so_far <= ${limits.historyBytes}::int or e.place = 1
    )
    select h.session, h.last_sequence, h.floor, h.state, t.sequence, t.event
      from ledgerline.session_head h left join taken t on true
     where h.session = ${session}::text
     order by t.sequence`;
  const [first] = rows;
  const taken = rows.filter(({ sequence }) => sequence !== null);
  const numberOf = (row: HistoryRow | undefined): Sequence | undefined =>
    typeof row?.sequence === 'number' ? toSequence(row.sequence) : undefined;
  return {
    events: taken.map(({ event }) => event),
    first: numberOf(taken.at(0)),
    last: numberOf(taken.at(-1)),
    head: first && toHead(first),
  };
}
