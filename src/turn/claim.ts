/** A worker takes sessions that are due: each becomes one attempt at one turn, with the turn's inputs. */
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import { after, toSequence, plus } from '../event/sequence.ts';
import type { Sequence } from '../event/sequence.ts';
import { storable } from '../event/storable.ts';
import { parseReceipt } from '../ledger/receipt.ts';
import { stamp } from '../ledger/stamp.ts';
import { lockTurnHead } from '../ledger/turn-head.ts';
import { claimHeads } from '../ledger/turn-lease.ts';
import type { ClaimedHead } from '../ledger/turn-lease.ts';
import { readDecisions } from './approval-row.ts';
import { bindRequests, inputSequences, readInputs } from './request-row.ts';
import type { Work } from './transaction.ts';
import { attemptEvent } from './turn-event.ts';
import { beginTurn, countAttempt } from './turn-row.ts';
import type { TurnRow } from './turn-row.ts';
import type { Attempt, ClaimRequest, ClaimedTurn } from './turns.ts';

interface Begun {
  readonly head: ClaimedHead;
  readonly turn: TurnRow;
  readonly inputs: readonly Sequence[];
}

export interface Claimed {
  readonly turns: readonly ClaimedTurn[];
  /** Those that begin with this claim: nobody else can have their ids. */
  readonly fresh: readonly Attempt[];
  /** How long each was ready. */
  readonly readyMs: readonly number[];
}

export async function claim(work: Work, request: ClaimRequest, leaseMs: number, log: Log): Promise<Claimed> {
  const { tx } = work;
  const heads = await claimHeads(tx, { limit: request.limit, worker: storable(request.worker), leaseMs });
  const begun: Begun[] = [];
  for (const head of heads) {
    const one = await begin(work, head, request, log);
    if (one !== undefined) begun.push(one);
  }
  if (begun.length === 0) return { turns: [], fresh: [], readyMs: [] };

  const started = await announce(work, begun, leaseMs);
  const turns = await Promise.all(
    begun.map(async ({ head: { session, turn, fence }, turn: row }, index) => {
      const inputs = await readInputs(tx, session, turn);
      return {
        session,
        turn,
        attempt: fence,
        tryNumber: row.attempts,
        maxAttempts: row.maxAttempts,
        leaseMs,
        deadline: row.deadline,
        remainingMs: Math.max(0, row.remainingMs),
        head: after(started[index] ?? toSequence(1)),
        inputs,
        decisions: await readDecisions(tx, session, turn),
        traceparent: inputs.find((input) => input.traceparent !== undefined)?.traceparent,
      };
    }),
  );
  const fresh = turns.filter((_, index) => begun[index]?.head.isNew === true);
  return { turns, fresh, readyMs: begun.map(({ head }) => head.readyMs) };
}

/**
 * A new turn takes what is pending now, and never anything more: its inputs are the same at every attempt [I12]. Not in the
 * statement that took the head: that one's snapshot is older than the lock, and a message that committed in between
 * would be left with an idle session.
 */
async function begin(work: Work, head: ClaimedHead, request: ClaimRequest, log: Log): Promise<Begun | undefined> {
  const { tx } = work;
  const { session, turn } = head;
  if (!head.isNew) {
    const [row, inputs] = [await countAttempt(tx, head), await inputSequences(tx, session, turn)];
    return { head, turn: row, inputs };
  }
  const inputs = await bindRequests(tx, session, turn);
  if (inputs.length > 0) return { head, turn: await beginTurn(tx, head, request), inputs };
  // Nothing makes a session ready without a request; one bad row must not keep all others from being claimed.
  log.error({ session }, 'a session was ready with nothing to do');
  const locked = await lockTurnHead(tx, session);
  if (locked !== undefined) await work.move(locked, { to: 'idle' }, []);
  return undefined;
}

/** Each attempt announces itself, so that what an older one had said is known to be abandoned. One statement for all. */
async function announce(work: Work, begun: readonly Begun[], leaseMs: number): Promise<Sequence[]> {
  const requests = begun.map(({ head: { session, turn, fence }, turn: row, inputs }) => {
    const event = attemptEvent('turn.started', { turn, attempt: fence }, { try: row.attempts, inputs });
    return { session, events: [event], fence: { turn, attempt: fence } };
  });
  const receipt = parseReceipt(await stamp(work.tx, requests, limits.headLockWaitMs, leaseMs));
  return requests.map(({ session, events }, index) => {
    const first = receipt.firsts[index];
    if (first === null || first === undefined) throw new Error(`the turn of ${session} could not be announced`);
    const sequence = toSequence(first);
    work.stored({ session, first: sequence, last: plus(sequence, 0), at: receipt.at, events });
    return sequence;
  });
}
