/** What must hold of every session when its turns are over, whatever died on the way; told from the ledger alone. */
import type { Sql } from '../../src/db/postgres.ts';

export interface ToldEvent {
  readonly session: string;
  readonly sequence: number;
  readonly type: string;
  readonly turn: string | null;
  readonly attempt: number | null;
  readonly data: Readonly<Record<string, unknown>>;
}

const ends: ReadonlySet<string> = new Set(['turn.completed', 'turn.failed', 'turn.cancelled']);

interface Told {
  /** As each `turn.started` told them; they must not differ. */
  readonly inputs: string;
  /** Replies of the attempt that runs. */
  replies: number;
  end: string | undefined;
}

/** Of one session's events, from the first to the last. */
function breachesOf(events: readonly ToldEvent[]): string[] {
  const breaches: string[] = [];
  const turns = new Map<string, Told>();
  const messages = new Map<number, number>();
  let running: { readonly turn: string; readonly attempt: number } | undefined;
  let newest = 0;

  function start(turn: string, attempt: number, inputs: string): string | undefined {
    const before = turns.get(turn);
    if (running !== undefined) return `begins while attempt ${running.attempt} runs`;
    if (attempt <= newest) return `has a fence that is not above ${newest}`;
    if (before?.end !== undefined) return 'begins a turn that is over';
    if (before !== undefined && before.inputs !== inputs) return `has other inputs than ${before.inputs}`;
    [running, newest] = [{ turn, attempt }, attempt];
    turns.set(turn, { inputs, replies: 0, end: undefined });
    return undefined;
  }

  function end(turn: string, type: string, inputs: readonly number[]): string | undefined {
    const told = turns.get(turn);
    running = undefined;
    if (told === undefined || told.end !== undefined) return 'ends a turn that does not run';
    told.end = type;
    for (const input of inputs) messages.set(input, (messages.get(input) ?? 0) + 1);
    if (told.inputs !== String(inputs)) return `has other inputs than ${told.inputs}`;
    const expected = type === 'turn.completed' ? 1 : 0;
    return told.replies === expected ? undefined : `has ${told.replies} replies`;
  }

  function judge({ sequence, type, turn, attempt, data }: ToldEvent): string | undefined {
    if (type === 'message.created') messages.set(sequence, 0);
    if (turn === null || attempt === null) return undefined;
    if (type === 'turn.started') return start(turn, attempt, String(data['inputs']));
    if (running?.turn !== turn || running.attempt !== attempt) return 'is written by an attempt that does not run';
    const told = turns.get(turn);
    if (type === 'message.completed' && told !== undefined) told.replies += 1;
    // in doubt it is over for its attempt, and a person may have it go on
    if (type === 'turn.retrying' || type === 'turn.in_doubt') running = undefined;
    return ends.has(type) ? end(turn, type, data['inputs'] as number[]) : undefined;
  }

  for (const [index, event] of events.entries()) {
    const place = `${event.session} ${event.sequence} ${event.type}`;
    if (event.sequence !== index + 1) breaches.push(`${place} is event ${index + 1}`);
    const breach = judge(event);
    if (breach !== undefined) breaches.push(`${place} of attempt ${event.attempt} ${breach}`);
  }
  for (const [message, times] of messages) {
    if (times !== 1) breaches.push(`${events[0]?.session} ${message} is an input of ${times} turns that ended`);
  }
  return breaches;
}

/** Of one session, or of all. */
export async function toldEvents(sql: Sql, session?: string): Promise<ToldEvent[]> {
  const rows = await sql<(Omit<ToldEvent, 'data'> & { readonly text: string })[]>`
    select session, sequence, type, turn_id as turn, attempt, payload::text as text
      from ledgerline.event
     where ${session ?? null}::text is null or session = ${session ?? null}::text
     order by session, sequence`;
  return rows.map(({ text, ...row }) => ({ ...row, data: JSON.parse(text) as ToldEvent['data'] }));
}

/** Of the whole database: its events as above, and rows that say otherwise than they do. */
export async function turnBreaches(sql: Sql): Promise<string[]> {
  const sessions = new Map<string, ToldEvent[]>();
  for (const event of await toldEvents(sql)) {
    const known = sessions.get(event.session);
    if (known === undefined) sessions.set(event.session, [event]);
    else known.push(event);
  }
  const rows = await sql<{ breach: string }[]>`
      select h.session || ' is ' || h.turn_state as breach from ledgerline.session_head h where h.turn_state <> 'idle'
      union all
      select h.session || ' has the head ' || h.last_sequence from ledgerline.session_head h
       where h.last_sequence <> (select count(*) from ledgerline.event e where e.session = h.session)
      union all
      select r.session || ' ' || r.sequence || ' is ' || r.status from ledgerline.turn_request r
       where r.status in ('pending', 'claimed')
      union all
      select t.session || ' has a turn that is ' || t.status || ', and not told so' from ledgerline.turn t
       where not exists (
         select from ledgerline.event e
          where e.session = t.session and e.sequence = t.settled_sequence and e.turn_id = t.turn_id
            and e.type = case t.status when 'done' then 'turn.completed' else 'turn.' || t.status end)`;
  return [...[...sessions.values()].flatMap(breachesOf), ...rows.map(({ breach }) => breach)];
}
