/** Claims that come while others are under way go together in the next transaction, as appends do: each gets what it asked for, no more. */
import { LedgerlineError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { ClaimedTurn, ClaimRequest } from './turns.ts';

/** One answer for each request, in order. */
export type ClaimAll = (requests: readonly ClaimRequest[]) => Promise<readonly (readonly ClaimedTurn[])[]>;

interface Waiting {
  readonly request: ClaimRequest;
  readonly signal: AbortSignal | undefined;
  answer(turns: readonly ClaimedTurn[]): void;
  fail(thrown: unknown): void;
}

/** A claim of a group that fails has failed like all of it. One whose `signal` was aborted before its transaction began takes nothing. */
export function createClaimGroup(claimAll: ClaimAll) {
  const waiting: Waiting[] = [];
  let isUnderWay = false;

  async function run(): Promise<void> {
    if (isUnderWay) return;
    isUnderWay = true;
    for (let group = take(); group.length > 0; group = take()) await fly(group);
    isUnderWay = false;
  }

  /** The first of those that wait, as many as may be claimed for at once. */
  function take(): Waiting[] {
    const group: Waiting[] = [];
    for (let turns = 0; ;) {
      const [next] = waiting;
      turns += next?.request.limit ?? 0;
      if (next === undefined || (group.length > 0 && turns > limits.claimTurns)) return group;
      waiting.shift();
      if (next.signal?.aborted === true) next.answer([]);
      else group.push(next);
    }
  }

  async function fly(group: readonly Waiting[]): Promise<void> {
    try {
      const claimed = await claimAll(group.map(({ request }) => request));
      for (const [index, one] of group.entries()) one.answer(claimed[index] ?? []);
    } catch (thrown) {
      // Who waits behind would ask the same Postgres, one deadline after another.
      const isAway = thrown instanceof LedgerlineError && thrown.code === 'unavailable';
      for (const one of isAway ? [...group, ...waiting.splice(0)] : group) one.fail(thrown);
    }
  }

  return {
    claim: (request: ClaimRequest, signal?: AbortSignal): Promise<readonly ClaimedTurn[]> =>
      new Promise((answer, fail) => {
        waiting.push({ request, signal, answer, fail });
        void run();
      }),
  };
}
