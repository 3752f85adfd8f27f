/** A lease ends by this process's own clock, counted from when its renewal was sent, and one that ended stays ended. */
import { expect, test } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import { createLease, renewMsOf } from '../../src/worker/lease.ts';
import { manualClock } from '../support/manual-clock.ts';

test('it lapses before another attempt may begin, whatever the lease is', async () => {
  expect(renewMsOf(limits.leaseMs)).toBe(limits.renewMs);
  const clock = manualClock();
  const lease = createLease(clock, 3_000);
  expect([lease.lapsesAtMs - clock.now(), lease.overdueAtMs - clock.now()]).toEqual([2_500, 2_750]);
  await clock.advance(2_499);
  expect(lease.isOver).toBe(false);
  await clock.advance(1);
  expect(lease.isOver).toBe(true);
});

test('a renewal counts from when it was sent, and an older one that comes late takes nothing away', async () => {
  const clock = manualClock();
  const lease = createLease(clock, limits.leaseMs);
  const sentMs = clock.now();
  await clock.advance(10_000);
  lease.extend(sentMs + 4_000);
  expect(lease.lapsesAtMs).toBe(sentMs + 4_000 + limits.selfStopMs);
  lease.extend(sentMs);
  expect(lease.lapsesAtMs).toBe(sentMs + 4_000 + limits.selfStopMs);
});

test('a renewal that is answered behind the end comes too late', async () => {
  const clock = manualClock();
  const lease = createLease(clock, limits.leaseMs);
  await clock.advance(limits.selfStopMs);
  lease.extend(clock.now());
  expect(lease.isOver).toBe(true);
});
