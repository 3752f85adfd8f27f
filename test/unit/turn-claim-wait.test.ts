/** When a claim that waits looks again: at what it heard, when something is due, and by itself. */
import { expect, test } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import { createClaimWait } from '../../src/turn/claim-wait.ts';
import { lossyBus } from '../support/lossy-bus.ts';
import { manualClock } from '../support/manual-clock.ts';

function scene() {
  const clock = manualClock();
  const bus = lossyBus();
  const claims = createClaimWait(bus, clock);
  const began = clock.now();
  /** How long it waited, once it did. */
  const wait = (atMostMs: number, signals: readonly AbortSignal[] = []) => {
    const listening = claims.listen();
    const waited = listening.until(atMostMs, signals).then(() => {
      listening.leave();
      return clock.now() - began;
    });
    return waited;
  };
  return { clock, bus, claims, wait };
}

test('it looks by itself after the poll’s interval, whatever its caller would wait', async () => {
  const { clock, wait } = scene();
  const waited = wait(600_000);
  await clock.advance(limits.claimPollMs * 2);
  expect(await waited).toBe(limits.claimPollMs);
});

test('it waits no longer than it may', async () => {
  const { clock, wait } = scene();
  const waited = wait(40);
  await clock.advance(1_000);
  expect(await waited).toBe(40);
});

test('it looks when what it heard of is due, and not before', async () => {
  const { clock, bus, wait } = scene();
  const waited = wait(600_000);
  bus.wake({ kind: 'ready', inMs: 150 });
  bus.wake({ kind: 'ready', inMs: 500 });
  bus.wake({ kind: 'stop', session: 's', turn: 't' });
  await clock.advance(2_000);
  expect(await waited).toBe(150);
});

test('what it hears before it waits is not lost: it was looking meanwhile', async () => {
  const { clock, bus, claims } = scene();
  const listening = claims.listen();
  bus.wake({ kind: 'ready', inMs: 0 });
  const began = clock.now();
  const waited = listening.until(600_000, []).then(() => clock.now() - began);
  await clock.advance(limits.claimPollMs);
  expect(await waited).toBe(0);
});

test('a signal ends it at once, also one that was aborted before', async () => {
  const { wait } = scene();
  const leaving = new AbortController();
  const waited = wait(600_000, [leaving.signal]);
  leaving.abort();
  expect(await waited).toBe(0);
  expect(await wait(600_000, [leaving.signal])).toBe(0);
});

test('it hears nothing more when it has left, or the process stops', async () => {
  const { clock, bus, claims, wait } = scene();
  claims.stop();
  const waited = wait(600_000);
  bus.wake({ kind: 'ready', inMs: 0 });
  await clock.advance(limits.claimPollMs);
  expect(await waited).toBe(limits.claimPollMs);
});
