/** The wall's time for a countdown: it ticks only while somebody counts. */
import { useEffect, useState } from 'react';
import { systemClock } from '../../src/clock.ts';
import type { Timer } from '../../src/clock.ts';

const TICK_MS = 250;

/** Milliseconds since 1970; stands still while `isTicking` is false. */
export function useNow(isTicking: boolean, everyMs = TICK_MS): number {
  const [nowMs, setNowMs] = useState(() => systemClock.wall());
  useEffect(() => {
    if (!isTicking) return undefined;
    let timer: Timer;
    const tick = (): void => {
      setNowMs(systemClock.wall());
      timer = systemClock.after(everyMs, tick);
    };
    tick();
    return () => timer.cancel();
  }, [isTicking, everyMs]);
  return nowMs;
}
