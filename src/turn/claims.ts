/** Claims of one process: those that come together share a transaction, and those that find nothing wait until something is due. */
import { setMaxListeners } from 'node:events';
import type { Clock } from '../base/clock.ts';
import { LedgerlineError, toError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import { detach } from '../base/service.ts';
import type { Bus } from '../bus/bus.ts';
import type { Pool } from '../db/pool.ts';
import { nextDueMs } from '../ledger/turn-lease.ts';
import { attemptName } from './attempt-name.ts';
import { claim } from './claim.ts';
import type { Claimed } from './claim.ts';
import { createClaimGroup } from './claim-group.ts';
import { createClaimWait } from './claim-wait.ts';
import { isAway } from './group.ts';
import { release } from './settle.ts';
import type { Transact } from './transaction.ts';
import type { Attempt, ClaimRequest, ClaimedTurn, Turns } from './turns.ts';

export interface ClaimsOptions {
  readonly bus: Pick<Bus, 'onWake'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly leaseMs: number;
  /** For what only looks. */
  readonly pool: Pool;
  readonly transact: Transact;
  /** Gives back what nobody got. */
  readonly settle: Transact;
}

export interface Claims {
  readonly claim: Turns['claim'];
  /** Those that wait get nothing; resolves when all have been answered. */
  stop(): Promise<void>;
}

export function createClaims({ bus, clock, log, metrics, leaseMs, pool, transact, settle }: ClaimsOptions): Claims {
  const waits = createClaimWait(bus, clock);
  const claimGroup = createClaimGroup(clock, claimAll);
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal); // each claim that waits
  const claiming = new Set<Promise<unknown>>();

  async function claimAll(requests: readonly ClaimRequest[]): Promise<readonly (readonly ClaimedTurn[])[]> {
    if (stopping.signal.aborted) return requests.map(() => []); // they waited for others meanwhile
    const claimed = await claimTogether(requests);
    for (const ms of claimed.readyMs) metrics.claimSeconds.observe(ms / 1_000);
    for (const [index, { worker }] of requests.entries()) {
      for (const turn of claimed.turns[index] ?? []) log.info({ ...attemptName(turn), worker }, 'turn claimed');
    }
    return claimed.turns;
  }

  /** What one session has wrong must keep no other from being claimed, and it is the longest due: then each begins apart [I9]. */
  async function claimTogether(requests: readonly ClaimRequest[]): Promise<Claimed> {
    try {
      return await claimOnce(requests, false);
    } catch (thrown) {
      if (isAway(thrown)) throw thrown;
      log.error({ err: toError(thrown) }, 'turns could not be claimed together');
    }
    return claimOnce(requests, true);
  }

  async function claimOnce(requests: readonly ClaimRequest[], isApart: boolean): Promise<Claimed> {
    const fresh: Attempt[] = [];
    let isGivenUp = false;
    try {
      return await transact('claiming turns', async (one) => {
        const claimed = await claim(one, requests, { leaseMs, isApart, log, fresh });
        // The deadline has passed meanwhile. Nobody would have the turns, nor give them back: rolled back, they are still due.
        if (isGivenUp) throw new LedgerlineError('unavailable', 'nobody waits for this claim any more');
        return claimed;
      });
    } catch (thrown) {
      isGivenUp = true;
      // The connection was lost around the commit: if that happened, nobody has the turns.
      for (const attempt of fresh) detach(giveBack(attempt), log, 'a turn that nobody got was not given back');
      throw thrown;
    }
  }

  /** Without this a try would be lost with the answer, and a turn that is tried but once would fail without any. */
  async function giveBack(attempt: Attempt): Promise<void> {
    try {
      await settle('giving a turn back', (one) => release(one, attempt));
    } catch (thrown) {
      // It did not begin.
      if (!(thrown instanceof LedgerlineError && thrown.code === 'fenced')) throw thrown;
    }
  }

  async function claimOrWait(asked: ClaimRequest, signal?: AbortSignal): Promise<readonly ClaimedTurn[]> {
    const until = clock.now() + asked.waitMs;
    for (;;) {
      // Before the look: what is said to be due while it lasts is not missed.
      const woken = waits.listen();
      try {
        if (signal?.aborted === true || stopping.signal.aborted) return [];
        const turns = await claimGroup(asked, signal);
        const leftMs = until - clock.now();
        if (turns.length > 0 || leftMs <= 0) return turns;
        const dueMs = await pool.run('looking for the next turn', nextDueMs);
        // What is due and was not taken is held by somebody else: without a pause all who wait would ask on and on.
        await woken.until(Math.min(leftMs, dueMs === 0 ? limits.claimAgainMs : (dueMs ?? leftMs)), [
          stopping.signal,
          ...(signal ? [signal] : []),
        ]);
      } finally {
        woken.leave();
      }
    }
  }

  return {
    claim(asked, signal) {
      const claimed = claimOrWait(asked, signal);
      claiming.add(claimed);
      return claimed.finally(() => claiming.delete(claimed));
    },
    async stop() {
      stopping.abort();
      waits.stop();
      await Promise.allSettled(claiming);
    },
  };
}
