/** Workers take sessions that are due: each becomes one attempt at one turn, with the turn's inputs. */
import type { Log } from '../base/log.ts';
import { after } from '../event/sequence.ts';
import { storable } from '../event/storable.ts';
import { claimTurns } from '../ledger/turn-stamp.ts';
import type { BegunAttempt, ClaimedHead } from '../ledger/turn-stamp.ts';
import { readDecisions } from './approval-row.ts';
import { toInput } from './request-row.ts';
import type { Work } from './transaction.ts';
import type { Attempt, ClaimRequest, ClaimedTurn, Decision } from './turns.ts';

export interface Claimed {
  /** For each request, in order. */
  readonly turns: readonly (readonly ClaimedTurn[])[];
  /** How long each was ready. */
  readonly readyMs: readonly number[];
}

export interface Claiming {
  readonly leaseMs: number;
  /** One that cannot begin is put off, and keeps none of the others; without it an error of one is thrown. */
  readonly isApart: boolean;
  readonly log: Log;
  /** Gets those that begin with this claim, before it can be committed: nobody else can have their ids. */
  readonly fresh: Attempt[];
}

/**
 * One round trip, and those of BEGIN and COMMIT, however many claim and are claimed; one more where a turn goes on, for its decisions. A
 * turn that begins takes what is pending now, and never anything more: its inputs are the same at every attempt [I12].
 */
export async function claim(work: Work, requests: readonly ClaimRequest[], how: Claiming): Promise<Claimed> {
  const { leaseMs, log, fresh } = how;
  const heads = await claimTurns(
    work.tx,
    requests.map((request) => ({ ...request, worker: storable(request.worker) })),
    how,
  );
  for (const { isNew, session, turn, fence } of heads) if (isNew) fresh.push({ session, turn, attempt: fence });
  const goingOn = heads.filter(({ isNew }) => !isNew);
  const decisions = new Map(
    await Promise.all(
      goingOn.map(async (head) => [head, await readDecisions(work.tx, head.session, head.turn)] as const),
    ),
  );
  const turns = requests.map((): ClaimedTurn[] => []);
  for (const head of heads) {
    const { session, begun, failure } = head;
    if (begun !== undefined) {
      work.stored(begun.moved);
      turns[head.claim]?.push(toTurn(head, begun, decisions.get(head) ?? [], leaseMs));
    } else if (failure === undefined) log.error({ session }, 'a session was ready with nothing to do');
    else log.error({ session, failure }, 'a turn could not begin, and is put off');
  }
  // One that is put off would be counted at every try, with a longer time each.
  return { turns, readyMs: heads.filter(({ begun }) => begun !== undefined).map(({ readyMs }) => readyMs) };
}

function toTurn(
  { session, turn, fence }: ClaimedHead,
  begun: BegunAttempt,
  decisions: readonly Decision[],
  leaseMs: number,
): ClaimedTurn {
  const inputs = begun.messages.map(toInput);
  return {
    session,
    turn,
    attempt: fence,
    tryNumber: begun.attempts,
    maxAttempts: begun.maxAttempts,
    leaseMs,
    deadline: begun.deadline,
    remainingMs: Math.max(0, begun.remainingMs),
    head: after(begun.moved.last),
    inputs,
    decisions,
    traceparent: inputs.find((input) => input.traceparent !== undefined)?.traceparent,
  };
}
