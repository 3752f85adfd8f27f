/** A worker takes sessions that are due: each becomes one attempt at one turn, with the turn's inputs. */
import type { Log } from '../base/log.ts';
import { after } from '../event/sequence.ts';
import { storable } from '../event/storable.ts';
import { claimHeads } from '../ledger/turn-lease.ts';
import type { ClaimedHead } from '../ledger/turn-lease.ts';
import { beginAttempt } from '../ledger/turn-stamp.ts';
import { readDecisions } from './approval-row.ts';
import { parseInputs } from './request-row.ts';
import type { Work } from './transaction.ts';
import { attemptEvent } from './turn-event.ts';
import type { Attempt, ClaimRequest, ClaimedTurn } from './turns.ts';

export interface Claimed {
  /** For each request, in order. */
  readonly turns: readonly (readonly ClaimedTurn[])[];
  /** How long each was ready. */
  readonly readyMs: readonly number[];
}

/**
 * Two round trips, and those of BEGIN and COMMIT, however many claim and are claimed: the heads, and then what each of them
 * needs. Not one, since the statement that takes a head has a snapshot that is older than the lock: a message that committed
 * in between would be left with an idle session.
 * `fresh` gets those that begin with this claim, before it can be committed: nobody else can have their ids.
 */
export async function claim(
  work: Work,
  requests: readonly ClaimRequest[],
  leaseMs: number,
  log: Log,
  fresh: Attempt[],
): Promise<Claimed> {
  const taken = await Promise.all(
    requests.map(({ limit, worker }) => claimHeads(work.tx, { limit, worker: storable(worker), leaseMs })),
  );
  const heads = taken.flat();
  fresh.push(
    ...heads.filter(({ isNew }) => isNew).map(({ session, turn, fence }) => ({ session, turn, attempt: fence })),
  );
  const begun = taken.map((of, index) => {
    const request = requests[index];
    return request === undefined ? [] : of.map((head) => begin(work, head, request, leaseMs));
  });
  const turns = await Promise.all(begun.map((of) => Promise.all(of)));
  for (const [index, turn] of turns.flat().entries()) {
    if (turn === undefined) log.error({ session: heads[index]?.session }, 'a session was ready with nothing to do');
  }
  return {
    turns: turns.map((of) => of.filter((turn) => turn !== undefined)),
    readyMs: heads.map(({ readyMs }) => readyMs),
  };
}

/**
 * All that an attempt needs is sent together. A turn that begins takes what is pending now, and never anything more: its inputs are the
 * same at every attempt [I12]. Undefined: there is nothing to do.
 */
async function begin(
  work: Work,
  head: ClaimedHead,
  request: ClaimRequest,
  leaseMs: number,
): Promise<ClaimedTurn | undefined> {
  const { tx } = work;
  const { session, turn, fence, isNew } = head;
  const started = attemptEvent('turn.started', { turn, attempt: fence }, {});
  const [begun, decisions] = await Promise.all([
    beginAttempt(tx, head, request, started),
    isNew ? [] : readDecisions(tx, session, turn),
  ]);
  if (begun === undefined) return undefined;
  work.stored(begun.moved);
  const inputs = parseInputs(begun.messages);
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
