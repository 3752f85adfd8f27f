/** The system's time, but faster, for what waits minutes for a reason. */
import { systemClock } from '../../src/base/clock.ts';
import type { Clock } from '../../src/base/clock.ts';

export const fastClock = (times: number): Clock => ({
  ...systemClock,
  now: () => systemClock.now() * times,
  after: (delayMs, run) => systemClock.after(delayMs / times, run),
});
