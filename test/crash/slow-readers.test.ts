/** Readers that stop reading, and histories larger than memory: each costs the gateway a fixed amount [I6]. */
import { expect, it } from 'vitest';
import type { RunningGateway } from '../support/gateway.ts';
import { append, closeSession, metric, residentBytes } from '../support/gateway-calls.ts';
import { countTo, withSql } from '../support/ledger.ts';
import { rawReader } from '../support/raw-reader.ts';
import type { RawReader } from '../support/raw-reader.ts';
import { database, freshSession, gateway, gateways } from '../support/stage.ts';
import { eventually } from '../support/waits.ts';

const MiB = 1024 * 1024;

/** The largest that each process has been seen to be. */
function watchMemory(places: readonly RunningGateway[]): { look: () => Promise<void>; peaks: number[] } {
  const peaks = places.map(() => 0);
  return {
    peaks,
    async look() {
      const sizes = await Promise.all(places.map(residentBytes));
      for (const [index, size] of sizes.entries()) peaks[index] = Math.max(peaks[index] ?? 0, size);
    },
  };
}

/** What the kernel takes in for somebody who does not read, on both sides, the unsent bytes, and a page. */
const STOPPED_MIB = 16;

/** How much was handed to the sockets of readers that are closed now; whoever is left must be at rest. */
async function handedTo(at: RunningGateway, readers: readonly RawReader[]): Promise<number> {
  const subscribers = await metric(at, 'ledgerline_subscribers');
  const before = await metric(at, 'ledgerline_stream_bytes_total');
  for (const reader of readers) reader.close();
  await eventually('the readers are gone', async () => {
    return (await metric(at, 'ledgerline_subscribers')) === subscribers - readers.length;
  });
  return (await metric(at, 'ledgerline_stream_bytes_total')) - before;
}

const payload = (number: number, bytes: number): string => `"${String(number).padEnd(bytes - 2, 'x')}"`;

it('a reader that stops under 100 MB costs its gateway a small and fixed amount, and later reads all of it', async () => {
  const { url } = await database();
  // both hear the same events at the same time from a third; only one has the reader that stops
  const [writing, healthy, burdened] = (await gateways(3, { databaseUrl: url })) as [
    RunningGateway,
    RunningGateway,
    RunningGateway,
  ];
  const session = await freshSession(writing);
  const readers = [await rawReader(healthy, session), await rawReader(burdened, session)] as const;
  const stopped = await rawReader(burdened, session);
  const lost = await rawReader(burdened, session);
  for (const reader of [stopped, lost]) reader.pause();
  const { look, peaks } = watchMemory([healthy, burdened]);
  const events = 800;
  for (let index = 0; index < events; index += 8) {
    const batch = countTo(8).map((number) => payload(index + number, 128 * 1024));
    expect((await append(writing, session, ...batch)).status).toBe(201);
    // as fast as the readers that do read, or the run would measure how far those are behind
    await eventually('the others keep up', () => readers.every((reader) => reader.last() >= index + 8), 60_000);
    await look();
  }
  expect(stopped.last(), 'it has not been read for it').toBeLessThan(events / 2);
  const [without = 0, including = 0] = peaks;
  expect((including - without) / MiB, 'MiB that the stopped reader costs').toBeLessThan(50);

  await handedTo(burdened, [readers[1]]);
  expect((await handedTo(burdened, [lost])) / MiB, 'MiB handed to a reader that stopped').toBeLessThan(STOPPED_MIB);
  stopped.resume();
  await eventually('the stopped reader has all of it', () => stopped.last() === events, 60_000);
  for (const reader of [...readers, stopped]) expect(reader.fault()).toBeUndefined();
});

it('100 readers that stop reading keep no other reader and no append waiting', async () => {
  const { url } = await database();
  const at = await gateway({ databaseUrl: url, natsUrl: null });
  const session = await freshSession(at);
  const healthy = await Promise.all(countTo(5).map(() => rawReader(at, session)));
  const stopped = await Promise.all(countTo(100).map(() => rawReader(at, session)));
  for (const reader of stopped) reader.pause();
  const before = await residentBytes(at);
  const events = 320;
  for (let index = 0; index < events; index += 8) {
    const batch = countTo(8).map((number) => payload(index + number, 128 * 1024));
    expect((await append(at, session, ...batch)).status).toBe(201);
  }
  await eventually(
    'the healthy readers have it all',
    () => healthy.every((reader) => reader.last() === events),
    60_000,
  );
  for (const reader of healthy) expect(reader.fault()).toBeUndefined();
  expect(stopped.filter((reader) => reader.last() === events)).toEqual([]);
  expect(await metric(at, 'ledgerline_subscribers')).toBe(105);
  // 4 GB in all; 256 KiB and a frame each is the bound, and the slices that they hold are shared
  expect(((await residentBytes(at)) - before) / MiB).toBeLessThan(200);
  await handedTo(at, healthy);
  expect((await handedTo(at, stopped)) / MiB / stopped.length, 'MiB handed to each').toBeLessThan(STOPPED_MIB);
});

it('a session of 1 GiB replays in bounded memory to a fast and to a slow reader', async () => {
  const { url } = await database();
  const at = await gateway({ databaseUrl: url, natsUrl: null });
  const session = await freshSession(at);
  const events = 1_000;
  await withSql(url, async (sql) => {
    await sql`
      insert into ledgerline.event (session, sequence, type, payload, bytes, created_at)
      select ${session}::text, number, 'text.delta', ('"' || repeat('x', 1048574) || '"')::json, 1048576, clock_timestamp()
        from generate_series(1, ${events}::int) as number`;
    await sql`update ledgerline.session_head set last_sequence = ${events}::int where session = ${session}::text`;
  });
  await closeSession(at, session);
  const before = await residentBytes(at);
  const { look, peaks } = watchMemory([at]);
  const fast = await rawReader(at, session);
  // the last third will do: it is far from the other until that one has passed it
  const slow = await rawReader(at, session, 700);
  slow.pause();
  while (fast.last() < events) {
    const { last } = fast;
    const reached = last() + 25;
    await eventually('the fast reader goes on', () => last() >= Math.min(reached, events), 60_000);
    // a little now and then: it is always behind, and never at rest
    const bytes = slow.bytes();
    slow.resume();
    await eventually('the slow reader takes a little', () => slow.bytes() > bytes, 60_000);
    slow.pause();
    await look();
  }
  slow.resume();
  await eventually('the slow reader has it all', () => slow.last() === events, 120_000);
  await look();
  for (const reader of [fast, slow]) expect(reader.fault()).toBeUndefined();
  expect(((peaks[0] ?? 0) - before) / MiB).toBeLessThan(256);
});
