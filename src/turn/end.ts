/** A turn ends: once, with an event that says how, its requests with it; and whatever waits behind it begins [I13]. */
import { assert } from '../base/assert.ts';
import type { Statements } from '../db/postgres.ts';
import type { Sequence } from '../event/sequence.ts';
import { noteActivity } from '../ledger/session-row.ts';
import type { Move, TurnEvent } from '../ledger/turn-head.ts';
import type { JournaledStep } from '../step/step.ts';
import { openEffects, putInDoubt } from './doubt.ts';
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
    }
  /** Nobody but a person can tell what became of these steps. */
  | {
      readonly status: 'in_doubt';
      readonly steps: readonly JournaledStep[];
      readonly events?: readonly TurnEvent[] | undefined;
      /** The end that was asked for. */
      readonly asked?: Asked;
    };

/** How a turn was to end, which had left calls open. */
type Asked = Exclude<End, { readonly status: 'in_doubt' }>;

/** `isFenced`: its attempt may still write, and must not. */
export async function endCurrent(work: Work, head: OwnedHead, asked: End, isFenced = false): Promise<Settled> {
  const { tx } = work;
  const { session, turn } = head;
  const [end, inputs, isPending] = await Promise.all([
    withDoubt(tx, head, asked),
    inputSequences(tx, session, turn),
    hasPending(tx, session),
  ]);
  const next: Move = isPending ? { to: 'ready', turn: undefined, inMs: 0 } : { to: 'idle' };
  const stored = await work.move(head, next, await endEvents(tx, head, end, inputs), isFenced);
  const sequence = stored?.last;
  await Promise.all([
    endTurn(tx, session, turn, {
      status: end.status,
      sequence,
      error: errorOf(end),
    }),
    noteActivity(tx, session, sequence),
  ]);
  work.ended(end.status);
  if (isPending) work.wake({ kind: 'ready', inMs: 0 });
  return { state: isPending ? 'ready' : 'idle', status: end.status, sequence };
}

/** However a turn was to end: what it began outside and nobody settled is for a person, and so is the turn. */
export async function withDoubt(tx: Statements, head: OwnedHead, end: End): Promise<End> {
  if (end.status === 'in_doubt') return end;
  const steps = await openEffects(tx, head.session, head.turn);
  if (steps.length === 0) return end;
  return { status: 'in_doubt', steps, events: 'events' in end ? end.events : undefined, asked: end };
}

/** What stands beside a turn that needs a person: why it failed; or what it was about when it left a call open. */
export function errorOf(end: End): TurnError | undefined {
  if (end.status === 'failed') return end.error;
  const asked = end.status === 'in_doubt' ? end.asked : undefined;
  switch (asked?.status) {
    case undefined:
      return undefined;
    case 'failed':
      return asked.error;
    case 'done':
      return { code: 'completed', message: 'the agent completed the turn and left a call open' };
    case 'cancelled':
      return { code: asked.reason, message: 'the turn was cancelled while a call was open' };
  }
}

/** The same for readers, in the words of the event that the end would have had. */
function askedFor(asked: Asked | undefined) {
  switch (asked?.status) {
    case undefined:
      return {};
    case 'failed':
      return { reason: 'failed', error: asked.error };
    case 'done':
      return { reason: 'completed' };
    case 'cancelled':
      return { reason: asked.reason, by: asked.by };
  }
}

/** All that is said of it, in order. An attempt's number in what it says last: readers keep what it had written. */
export async function endEvents(
  tx: Statements,
  head: OwnedHead,
  end: End,
  inputs: readonly Sequence[],
): Promise<TurnEvent[]> {
  const attempt = { turn: head.turn, attempt: head.fence };
  const said = 'events' in end ? (end.events ?? []) : [];
  switch (end.status) {
    case 'done':
      return [...said, attemptEvent('turn.completed', attempt, { inputs })];
    case 'failed':
      return [attemptEvent('turn.failed', attempt, { inputs, error: end.error })];
    case 'cancelled':
      return [...said, attemptEvent('turn.cancelled', attempt, { inputs, reason: end.reason, by: end.by })];
    case 'in_doubt': {
      const [first] = end.steps;
      assert(first !== undefined, 'a doubt is about a step');
      const doubted = await putInDoubt(tx, head, end.steps);
      return [
        ...said,
        ...doubted,
        attemptEvent('turn.in_doubt', attempt, { inputs, step: first.index, ...askedFor(end.asked) }),
      ];
    }
  }
}
