/** Keeps the leases of a whole process: one renewal for all of its turns, and one timer. */
import type { Clock, Timer } from '../base/clock.ts';
import { toError } from '../base/errors.ts';
import { detach } from '../base/service.ts';
import type { Log } from '../base/log.ts';
import type { Attempt, Turns } from '../turn/turns.ts';
import { renewMsOf } from './lease.ts';
import type { RunningTurn } from './running-turn.ts';
import type { Watchdog } from './watchdog.ts';

export interface Renewal {
  add(turn: RunningTurn): void;
  remove(turn: RunningTurn): void;
  /** Somebody may have asked one of them to stop. */
  renewNow(): void;
  stop(): void;
}

export interface RenewalOptions {
  readonly turns: Pick<Turns, 'renew'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly watchdog: Watchdog;
  /** Of each lease's own, if left out. */
  readonly renewMs?: number | undefined;
}

/** A renewal that failed, or left a lease as it was, is tried again so many times as often. */
const RETRIES = 10;

export function createRenewal({ turns, clock, log, watchdog, renewMs }: RenewalOptions): Renewal {
  const held = new Set<RunningTurn>();
  let timer: Timer | undefined;
  let renewAtMs = 0;
  let isRenewing = false;
  let isWanted = false;

  const everyMs = (some: readonly RunningTurn[]): number =>
    renewMs ?? Math.min(...some.map(({ leaseMs }) => renewMsOf(leaseMs)));

  async function renew(): Promise<void> {
    const asked = [...held].filter(({ isOver }) => !isOver);
    if (asked.length === 0) return;
    const sentMs = clock.now();
    renewAtMs = sentMs + everyMs(asked);
    const soonMs = (): number => clock.now() + everyMs(asked) / RETRIES;
    try {
      const renewed = await turns.renew(asked.map(({ attempt }) => attempt));
      const answers = new Map(renewed.map((answer) => [keyOf(answer), answer]));
      for (const turn of asked) {
        const answer = answers.get(keyOf(turn.attempt));
        if (answer === undefined) turn.lose('lost');
        else {
          if (answer.isExtended) turn.lease.extend(sentMs);
          else renewAtMs = Math.min(renewAtMs, soonMs());
          turn.heard(answer);
        }
      }
    } catch (thrown) {
      renewAtMs = soonMs();
      log.warn({ err: toError(thrown), turns: asked.length }, 'the leases could not be renewed');
    }
  }

  async function renewWhileWanted(): Promise<void> {
    isRenewing = true;
    try {
      while (isWanted) {
        isWanted = false;
        await renew();
      }
    } finally {
      isRenewing = false;
      look();
    }
  }

  function renewNow(): void {
    isWanted = true;
    if (!isRenewing) detach(renewWhileWanted(), log, 'a renewal failed');
  }

  /** Ends what is overdue, and sets the timer for what is next. */
  function look(): void {
    timer?.cancel();
    timer = undefined;
    const nowMs = clock.now();
    for (const turn of held) {
      if (turn.isOver) continue;
      if (turn.lease.isOver) turn.lose('lapsed');
      else if (turn.deadlineMs <= nowMs) detach(turn.cutShort('deadline'), log, 'a turn could not be ended');
    }
    const live = [...held].filter(({ isOver }) => !isOver);
    const lapsesAtMs = Math.min(...live.map(({ lease }) => lease.lapsesAtMs));
    const overdueAtMs = Math.min(...live.map(({ lease }) => lease.overdueAtMs));
    watchdog.beat(live.length === 0 ? undefined : overdueAtMs - nowMs);
    if (live.length === 0) return;
    if (!isRenewing && renewAtMs <= nowMs) renewNow();
    const deadlinesMs = live.map(({ deadlineMs }) => deadlineMs).filter((deadlineMs) => deadlineMs > nowMs);
    const nextMs = Math.min(lapsesAtMs, ...deadlinesMs, ...(isRenewing ? [] : [renewAtMs]));
    timer = clock.after(nextMs - nowMs, look);
  }

  return {
    add(turn) {
      const firstMs = clock.now() + everyMs([turn]);
      renewAtMs = held.size === 0 ? firstMs : Math.min(renewAtMs, firstMs);
      held.add(turn);
      look();
    },
    remove(turn) {
      held.delete(turn);
      look();
    },
    renewNow,
    stop() {
      held.clear();
      look();
    },
  };
}

const keyOf = ({ session, turn, attempt }: Attempt): string => `${session}/${turn}/${attempt}`;
