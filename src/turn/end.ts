/** A turn ends: once, with an event that says how, its requests with it; and whatever waits behind it begins [I13]. */
import type { Sequence } from '../event/sequence.ts';
import { noteActivity } from '../ledger/session-row.ts';
import type { Move, TurnEvent } from '../ledger/turn-head.ts';
import { hasPending, inputSequences } from './request-row.ts';
import type { Work } from './transaction.ts';
import { attemptEvent } from './turn-event.ts';
import { endTurn } from './turn-row.ts';
import type { Settled, TurnError } from './turns.ts';
import type { OwnedHead } from './under-lock.ts';

export type CancelReason = 'stopped' | 'interrupted' | 'forced' | 'closed';

export type End =
  | { readonly status: 'done'; readonly events: readonly TurnEvent[] }
  | { readonly status: 'failed'; readonly error: TurnError }
  | {
      readonly status: 'cancelled';
      readonly reason: CancelReason;
      readonly by?: string | undefined;
      readonly events?: readonly TurnEvent[];
    };

/** `isFenced`: its attempt may still write, and must not. */
export async function endCurrent(work: Work, head: OwnedHead, end: End, isFenced = false): Promise<Settled> {
  const { tx } = work;
  const { session, turn } = head;
  const [inputs, isPending] = await Promise.all([inputSequences(tx, session, turn), hasPending(tx, session)]);
  const next: Move = isPending ? { to: 'ready', turn: undefined, inMs: 0 } : { to: 'idle' };
  const events = 'events' in end ? (end.events ?? []) : [];
  const stored = await work.move(head, next, [...events, endEvent(head, end, inputs)], isFenced);
  const sequence = stored?.last;
  await Promise.all([
    endTurn(tx, session, turn, {
      status: end.status,
      sequence,
      error: end.status === 'failed' ? end.error : undefined,
    }),
    noteActivity(tx, session, sequence),
  ]);
  work.ended(end.status);
  if (isPending) work.wake({ kind: 'ready', inMs: 0 });
  return { state: isPending ? 'ready' : 'idle', status: end.status, sequence };
}

/** An attempt's number in what it says last: readers keep what it had written. */
export function endEvent(head: OwnedHead, end: End, inputs: readonly Sequence[]): TurnEvent {
  const attempt = { turn: head.turn, attempt: head.fence };
  switch (end.status) {
    case 'done':
      return attemptEvent('turn.completed', attempt, { inputs });
    case 'failed':
      return attemptEvent('turn.failed', attempt, { inputs, error: end.error });
    case 'cancelled':
      return attemptEvent('turn.cancelled', attempt, { inputs, reason: end.reason, by: end.by });
  }
}
