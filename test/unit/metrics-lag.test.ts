/** The age of what a sweep gives out: by the stamp of its oldest broadcast, and the clock that made the stamp. */
import { expect, test } from 'vitest';
import { silentLog } from '../../src/base/log.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import { createDatabaseClock } from '../../src/ledger/database-clock.ts';
import { envelope, stampOf } from '../../src/event/event.ts';
import { toCursor, toSequence } from '../../src/event/sequence.ts';
import type { Cursor } from '../../src/event/sequence.ts';
import { Deliveries } from '../../src/room/deliveries.ts';
import { eventFrame } from '../../src/sse/frame.ts';
import { manualClock } from '../support/manual-clock.ts';
import { eventually } from '../support/waits.ts';

const noon = Date.parse('2026-11-30T12:00:00.000Z');
const at = (ms: number): string => new Date(noon + ms).toISOString();
const frames = (sequence: number, ms: number, data = '1'): Buffer =>
  Buffer.from(
    eventFrame(
      toSequence(sequence),
      envelope({ sequence: toSequence(sequence), type: 'at', at: at(ms), turn: 't', attempt: 1, data }),
    ),
  );

interface Told {
  heard(frames: Buffer | undefined): void;
  began(watermark: Cursor): void;
  ended(subscribers: number): void;
}

async function lags(deliver: (deliveries: Told) => void): Promise<{ count: number; sum: number }> {
  const metrics = createMetrics();
  const room = { session: 's', watermark: toCursor(0), subscribers: { size: 0 } };
  const deliveries = new Deliveries(room, toCursor(0), { wall: () => noon + 250, log: silentLog, metrics });
  deliver({
    heard: (heard) => deliveries.heard(heard),
    began(watermark) {
      room.watermark = watermark;
      deliveries.began();
    },
    ended(subscribers) {
      room.subscribers.size = subscribers;
      deliveries.ended();
    },
  });
  const { values } = await metrics.streamLagSeconds.get();
  const of = (name: string): number =>
    values.find((each) => each.metricName === `ledgerline_stream_lag_seconds_${name}`)?.value ?? Number.NaN;
  return { count: of('count'), sum: of('sum') };
}

test('a stamp is found in an encoded event, whatever its data says', () => {
  expect(stampOf(frames(1, 7, '{"at":"1999-01-01T00:00:00.000Z"}'))).toBe(noon + 7);
  expect(stampOf(Buffer.from('something else'))).toBeNaN();
});

test('several broadcasts that leave together are as old as the first, and counted once', async () => {
  const measured = await lags((deliveries) => {
    deliveries.heard(frames(1, 50));
    deliveries.heard(frames(2, 200));
    deliveries.began(toCursor(2));
    deliveries.ended(3);
  });
  expect(measured).toEqual({ count: 1, sum: 0.2 });
});

test('what comes while a sweep is under way is measured by the next', async () => {
  const measured = await lags((deliveries) => {
    deliveries.heard(frames(1, 150));
    deliveries.began(toCursor(1));
    deliveries.heard(frames(2, 240));
    deliveries.ended(1);
    deliveries.began(toCursor(2));
    deliveries.ended(1);
  });
  expect(measured.count).toBe(2);
  expect(measured.sum).toBeCloseTo(0.11);
});

test('a sweep without news, without readers or without frames is not measured', async () => {
  const measured = await lags((deliveries) => {
    deliveries.began(toCursor(0));
    deliveries.ended(1);
    deliveries.heard(frames(1, 0));
    deliveries.began(toCursor(1));
    deliveries.ended(0);
    deliveries.heard(undefined);
    deliveries.began(toCursor(2));
    deliveries.ended(1);
  });
  expect(measured.count).toBe(0);
});

test('frames are not kept until they are given out, nor behind that: a quiet room would hold its last ones', async () => {
  const measured = await lags((deliveries) => {
    const heard = frames(1, 50);
    deliveries.heard(heard);
    heard.fill(0);
    deliveries.began(toCursor(1));
    deliveries.ended(1);
  });
  expect(measured).toEqual({ count: 1, sum: 0.2 });
});

test('a stamp that lies a little ahead is no age below nothing', async () => {
  const measured = await lags((deliveries) => {
    deliveries.heard(frames(1, 251));
    deliveries.began(toCursor(1));
    deliveries.ended(1);
  });
  expect(measured).toEqual({ count: 1, sum: 0 });
});

test('the clock of Postgres is taken from the quickest of a few answers', async () => {
  const clock = manualClock(1);
  const metrics = createMetrics();
  const tookMs = [400, 2, 30];
  let asked = 0;
  const databaseClock = createDatabaseClock({
    clock,
    metrics,
    log: silentLog,
    // It is a minute ahead, and reads its clock just before it answers.
    ask: async () => {
      await clock.advance(tookMs[asked++] ?? 0);
      return clock.wall() + 60_000;
    },
  });
  expect(databaseClock.wall()).toBe(clock.wall());
  await databaseClock.start();
  await eventually('three answers are weighed', () => databaseClock.wall() - clock.wall() === 60_001);
  await databaseClock.stop();
});
