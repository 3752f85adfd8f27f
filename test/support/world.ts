/** Rooms on a manual clock, over a ledger in memory and a bus whose every delivery the test decides. */
import { silentLog } from '../../src/base/log.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import type { Broadcast } from '../../src/bus/bus.ts';
import { parseQueryCursor } from '../../src/event/cursor.ts';
import type { RoomsObserver } from '../../src/room/observer.ts';
import { createRooms } from '../../src/room/rooms.ts';
import type { Rooms } from '../../src/room/rooms.ts';
import { fakeWriter } from './fake-writer.ts';
import type { FakeWriter } from './fake-writer.ts';
import { lossyBus } from './lossy-bus.ts';
import type { LossyBus } from './lossy-bus.ts';
import { manualClock } from './manual-clock.ts';
import type { ManualClock } from './manual-clock.ts';
import { memoryLedger } from './memory-ledger.ts';
import type { MemoryLedger } from './memory-ledger.ts';

export interface World {
  readonly clock: ManualClock;
  readonly ledger: MemoryLedger;
  readonly bus: LossyBus;
  readonly rooms: Rooms;
  readonly metrics: ReturnType<typeof createMetrics>;
  /** Commits and broadcasts. */
  append(session: string, count?: number, bytes?: number): void;
  /** What the stream route does: reads the head, then joins. */
  follow(session: string, after?: string, options?: { writer?: FakeWriter; expiresAtMs?: number }): Promise<FakeWriter>;
  broadcast(session: string, broadcast: Broadcast): void;
}

export async function createWorld(seed = 1, observer?: RoomsObserver): Promise<World> {
  const clock = manualClock(seed);
  const ledger = memoryLedger();
  const bus = lossyBus();
  const metrics = createMetrics();
  const rooms = createRooms({ ledger, bus, clock, log: silentLog, metrics, observer });
  await rooms.start();
  return {
    clock,
    ledger,
    bus,
    rooms,
    metrics,
    append: (session, count, bytes) => bus.publish(session, ledger.commit(session, count, bytes)),
    broadcast: (session, broadcast) => bus.publish(session, broadcast),
    async follow(session, after, options = {}) {
      const writer = options.writer ?? fakeWriter();
      const reading = rooms.readHead(session);
      const [head] = await Promise.all([reading, clock.advance(20)]);
      if (head === undefined) throw new Error(`no session ${session}`);
      const requested = parseQueryCursor(after);
      const expiresAtMs = options.expiresAtMs === undefined ? {} : { expiresAtMs: options.expiresAtMs };
      rooms.join({ session, requested, head, writer, ...expiresAtMs });
      return writer;
    },
  };
}

/** first…last as a list. */
export const range = (first: number, last: number): number[] =>
  Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index);
