/** Claims that come together are one transaction: each gets what it asked for, no more. */
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import { createGroup } from './group.ts';
import type { ClaimedTurn, ClaimRequest } from './turns.ts';

/** One answer for each request, in order. */
export type ClaimAll = (requests: readonly ClaimRequest[]) => Promise<readonly (readonly ClaimedTurn[])[]>;

interface Asked {
  readonly request: ClaimRequest;
  readonly signal: AbortSignal | undefined;
}

/** One whose `signal` was aborted before its transaction began takes nothing. */
export function createClaimGroup(clock: Pick<Clock, 'soon'>, claimAll: ClaimAll) {
  const claim = createGroup<Asked, readonly ClaimedTurn[]>({
    clock,
    most: limits.claimTurns,
    weigh: ({ request }) => request.limit,
    async fly(group) {
      const here = group.filter(({ signal }) => signal?.aborted !== true);
      const claimed = here.length === 0 ? [] : await claimAll(here.map(({ request }) => request));
      const turns = new Map(here.map((asked, index) => [asked, claimed[index]]));
      return group.map((asked) => turns.get(asked) ?? []);
    },
  });
  return (request: ClaimRequest, signal?: AbortSignal): Promise<readonly ClaimedTurn[]> => claim({ request, signal });
}
