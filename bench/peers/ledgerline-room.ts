/** Ledgerline's live half alone: rooms on the bus within the process, with a ledger that only tells heads. */
import { createServer } from 'node:http';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import { START, after, toSequence } from '../../src/event/sequence.ts';
import type { Cursor } from '../../src/event/sequence.ts';
import type { Writer } from '../../src/sse/writer.ts';
import { builtRooms } from './built.ts';
import { sessionIn } from './followers.ts';
import { listening } from './listening.ts';
import { frameOf } from './payload.ts';
import type { Peer } from './peer.ts';

let isCounted = false;

/** Once for all writers: a function for each would be memory that each frame touches, and no server has. */
function countWrites(writer: Writer, count: () => void): void {
  if (isCounted) return;
  isCounted = true;
  const kind = Object.getPrototypeOf(writer) as Writer;
  const { write } = kind;
  kind.write = function counted(this: Writer, bytes) {
    count();
    write.call(this, bytes);
  };
}

export const peer: Peer = {
  title: 'Ledgerline',
  needs: [],
  follow: (session) => ({ method: 'GET', path: `/sessions/${session}/stream` }),
  async serve() {
    const { createRooms, localBus, openStream } = await builtRooms();
    const tops = new Map<string, Cursor>();
    let writes = 0;
    const metrics = createMetrics();
    const bus = localBus({ log: silentLog, metrics });
    const headOf = (session: string) => ({ head: tops.get(session) ?? START, floor: START, state: 'open' as const });
    const rooms = createRooms({
      ledger: {
        heads: (ids) => Promise.resolve(new Map(ids.map((id) => [id, headOf(id)]))),
        page: () => Promise.reject(new Error('every reader is live in this measurement')),
      },
      bus,
      clock: systemClock,
      log: silentLog,
      metrics,
    });
    await rooms.start();
    const server = createServer((request, response) => {
      const session = sessionIn(request.url ?? '');
      const join = async (): Promise<void> => {
        const head = await rooms.readHead(session);
        const writer = openStream(response, {});
        countWrites(writer, () => (writes += 1));
        if (head !== undefined) rooms.join({ session, requested: { kind: 'head' }, head, writer });
      };
      void join();
    });
    return {
      port: await listening(server),
      writes: () => writes,
      send(session, number, data) {
        const sequence = toSequence(number);
        tops.set(session, after(sequence));
        bus.publish(session, { kind: 'events', first: sequence, last: sequence, frames: frameOf(number, data) });
      },
    };
  },
};
