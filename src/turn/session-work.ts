/** What the work half keeps of a session, and how it ends and goes with it. */
import type { Statements } from '../db/postgres.ts';
import { next, plus } from '../event/sequence.ts';
import type { SessionWork } from '../ledger/postgres-ledger.ts';
import type { TurnEvent, TurnHead } from '../ledger/turn-head.ts';
import { endEvents, errorOf, withDoubt } from './end.ts';
import { cancelPending, inputSequences } from './request-row.ts';
import { turnEvent } from './turn-event.ts';
import { endTurn } from './turn-row.ts';
import { isUnderWay } from './under-lock.ts';

/** Whatever its agent does or was to do ends in the same transaction. The events to store before the session takes no more; the ledger moves the head. */
async function cancelAll(tx: Statements, head: TurnHead): Promise<TurnEvent[]> {
  if (head.turnState === 'idle') return [];
  const { session } = head;
  const pending = await cancelPending(tx, session);
  if (!isUnderWay(head)) return [turnEvent('turn.cancelled', { inputs: pending, reason: 'closed' })];
  const inputs = await inputSequences(tx, session, head.turn);
  const end = await withDoubt(tx, head, { status: 'cancelled', reason: 'closed' });
  const events = await endEvents(tx, head, end, [...inputs, ...pending]);
  const sequence = plus(next(head.head), events.length - 1);
  await endTurn(tx, session, head.turn, { status: end.status, sequence, error: errorOf(end) });
  return events;
}

/** All that is left of a deleted session's work; what people wrote must not outlive it. */
async function eraseWork(sql: Statements, session: string): Promise<void> {
  await sql`
    with approvals as (delete from ledgerline.approval where session = ${session}::text),
         requests as (delete from ledgerline.turn_request where session = ${session}::text),
         keys as (delete from ledgerline.client_request where session = ${session}::text)
    select 1`;
  await sql`delete from ledgerline.turn where session = ${session}::text`;
}

export const sessionWork: SessionWork = { end: cancelAll, erase: eraseWork };
