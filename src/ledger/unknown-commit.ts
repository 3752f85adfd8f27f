/** What became of a flush whose connection was lost: asked on another connection, until it is known or the time is up. */
import { backoffMs } from '../base/backoff.ts';
import { sleep } from '../base/clock.ts';
import type { Clock } from '../base/clock.ts';
import { LedgerlineError, toError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { plus, toSequence } from '../event/sequence.ts';
import { sqlState } from '../db/postgres.ts';
import type { Sql } from '../db/postgres.ts';
import { PAYLOAD_SEPARATOR, SEPARATOR, joinPayloads, joinTypes } from './append-text.ts';
import type { AppendRequest, Outcome } from './ledger.ts';
import type { Lost } from './flush.ts';
import type { Pool } from '../db/pool.ts';
import { parseReceipt, verdicts, verdictsInARow } from './receipt.ts';
import type { Receipt, Verdict } from './receipt.ts';

export type Answer = Outcome | LedgerlineError | { readonly kind: 'skipped' };

const backoff = { firstMs: 20, capMs: 500 };

export interface Inquiry {
  /** One answer for each append of the lost flush. Never rejects. */
  settle(requests: readonly AppendRequest[], lost: Lost): Promise<Answer[]>;
}

export function createInquiry(options: { pool: Pool; clock: Clock; log: Log; deadlineMs: number }): Inquiry {
  const { pool, clock, log } = options;

  return {
    async settle(requests, lost) {
      const deadline = clock.now() + options.deadlineMs;
      const receipt = lost.receipt === undefined ? undefined : parseReceipt(lost.receipt);
      for (let tries = 0; ; tries++) {
        try {
          const answers = await pool.run('asking for the outcome of a lost commit', (sql) =>
            receipt === undefined ? askByCounters(sql, requests, lost) : askByTransaction(sql, requests, lost, receipt),
          );
          if (answers !== undefined) return answers;
        } catch (error) {
          log.warn({ err: toError(error) }, 'the outcome of a lost commit could not be asked for');
        }
        if (clock.now() > deadline) return requests.map(() => unknown(lost));
        await sleep(backoffMs(backoff, tries, clock.random()));
      }
    },
  };
}

const unknown = (lost: Lost): LedgerlineError =>
  new LedgerlineError('append_unknown', 'the connection to Postgres was lost around the commit', {}, lost.error);

const notStored = (lost: Lost): LedgerlineError =>
  new LedgerlineError('unavailable', 'the connection to Postgres was lost; nothing was stored', {}, lost.error);

/** The receipt came, so the transaction's number is known. Undefined while it is still in progress. */
async function askByTransaction(
  sql: Sql,
  requests: readonly AppendRequest[],
  lost: Lost,
  receipt: Receipt,
): Promise<Answer[] | undefined> {
  const all: Verdict[] =
    receipt.firsts.length === requests.length ? verdicts(receipt, requests) : verdictsInARow(receipt, requests);
  if (receipt.transaction === null) return all; // it wrote nothing, so there was nothing to commit
  const status = await statusOf(sql, receipt.transaction);
  if (status === 'in progress') {
    await endBackends(sql, lost.connection);
    return undefined;
  }
  if (status === 'aborted') return requests.map(() => notStored(lost));
  // null: older than the server's memory of transactions
  return status === 'committed' && (await isThere(sql, requests, all)) ? all : requests.map(() => unknown(lost));
}

async function statusOf(sql: Sql, transaction: string): Promise<'in progress' | 'committed' | 'aborted' | null> {
  try {
    const [row] = await sql<{ status: 'in progress' | 'committed' | 'aborted' | null }[]>`
      select pg_xact_status(${transaction}::text::xid8) as status`;
    return row?.status ?? null;
  } catch (error) {
    // "in the future": another server took over before it had heard of the transaction
    if (sqlState(error) === '22023') return 'aborted';
    throw error;
  }
}

/** After a takeover the number may be another transaction's: what was committed must also be where the receipt says. */
async function isThere(sql: Sql, requests: readonly AppendRequest[], all: readonly Verdict[]): Promise<boolean> {
  const index = all.findIndex((verdict) => verdict.kind === 'appended');
  const verdict = all[index];
  if (verdict?.kind !== 'appended') return true;
  const [row] = await sql<{ is_there: boolean }[]>`
    select exists (select from ledgerline.event
                    where session = ${requests[index]?.session ?? ''}::text and sequence = ${verdict.first}::bigint
                      and created_at = ${verdict.at}::text::timestamptz) as is_there`;
  return row?.is_there === true;
}

/**
 * No receipt came. Once no backend of that connection is left, what is not stored will not be: then a producer's
 * counters tell, and who gave none must be told that it is unknown. An append that is found whole is taken for this
 * one; it can also be an earlier try of it that its producer was just asking about.
 */
async function askByCounters(sql: Sql, requests: readonly AppendRequest[], lost: Lost): Promise<Answer[] | undefined> {
  if ((await endBackends(sql, lost.connection)) > 0) return undefined;
  const answers: Answer[] = [];
  for (const request of requests) answers.push(await askByCounter(sql, request, lost));
  return answers;
}

type Repeat =
  | { readonly code: 'duplicate'; readonly first: number; readonly at: string }
  | { readonly code: 'conflict'; readonly first: number; readonly last: number }
  | { readonly code: 'overlap'; readonly counter: number }
  | { readonly code: null };

async function askByCounter(sql: Sql, request: AppendRequest, lost: Lost): Promise<Answer> {
  const { session, producer, events } = request;
  if (producer === undefined) return unknown(lost);
  const [repeat] = await sql<Repeat[]>`
    select r.code, r.first, r.last, r.counter,
           (select ledgerline.utc_text(e.created_at) from ledgerline.event e
             where e.session = ${session}::text and e.sequence = r.first) as at
      from jsonb_to_record(ledgerline.repeat_of(
             ${session}::text, ${producer.id}::text, ${producer.sequence}::bigint,
             string_to_array(${joinTypes(events)}::text, ${SEPARATOR}::text),
             string_to_array(${joinPayloads(events)}::text, ${PAYLOAD_SEPARATOR}::text)))
           as r (code text, first bigint, last bigint, counter bigint)`;
  if (repeat?.code === 'duplicate') {
    const first = toSequence(repeat.first);
    return { kind: 'appended', first, last: plus(first, events.length - 1), at: repeat.at };
  }
  if (repeat?.code === 'conflict') {
    return { kind: 'conflict', first: toSequence(repeat.first), last: toSequence(repeat.last) };
  }
  if (repeat?.code === 'overlap') return { kind: 'overlap', counter: repeat.counter };
  return notStored(lost);
}

/** Ends what the server still runs for a connection that we gave up; tells how many backends there were. */
async function endBackends(sql: Sql, connection: string): Promise<number> {
  const rows = await sql`
    select pg_terminate_backend(pid) from pg_stat_activity where application_name = ${connection}::text`;
  return rows.length;
}
