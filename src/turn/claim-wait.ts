/** A claim that waits: woken by a hint, and looking by itself all the while, because hints may be lost. */
import type { Clock, Timer } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { Bus } from '../bus/bus.ts';

export interface Listening {
  /** Resolves when it is worth looking again: at what was said to be due, after `atMostMs` or the poll's interval, or on a signal. */
  until(atMostMs: number, signals: readonly AbortSignal[]): Promise<void>;
  leave(): void;
}

export interface ClaimWait {
  /** From now on hints are heard. */
  listen(): Listening;
  stop(): void;
}

export function createClaimWait(bus: Pick<Bus, 'onWake'>, clock: Clock): ClaimWait {
  const listening = new Set<(inMs: number) => void>();
  const subscription = bus.onWake((wake) => {
    if (wake.kind === 'ready') for (const hear of listening) hear(wake.inMs);
  });

  return {
    listen() {
      /** When the earliest of what was heard is due; a claim that looks sooner finds nothing, and waits a whole poll. */
      let dueAt = Infinity;
      let timer: Timer | undefined;
      let wake: (() => void) | undefined;
      const rearm = (): void => {
        timer?.cancel();
        if (wake !== undefined) timer = clock.after(Math.max(0, dueAt - clock.now()), wake);
      };
      const hear = (inMs: number): void => {
        if (clock.now() + inMs >= dueAt) return;
        dueAt = clock.now() + inMs;
        rearm();
      };
      listening.add(hear);
      return {
        until: (atMostMs, signals) =>
          new Promise((resolve) => {
            wake = () => {
              for (const signal of signals) signal.removeEventListener('abort', woken);
              timer?.cancel();
              resolve();
            };
            const woken = (): void => wake?.();
            for (const signal of signals) signal.addEventListener('abort', woken, { once: true });
            if (signals.some((signal) => signal.aborted)) return wake();
            dueAt = Math.min(dueAt, clock.now() + Math.min(atMostMs, limits.claimPollMs));
            rearm();
          }),
        leave: () => void listening.delete(hear),
      };
    },
    stop: () => subscription.unsubscribe(),
  };
}
