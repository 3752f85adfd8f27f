/** The servers that the fan-out bench compares, one to a process, each told over its channel what to send. */
import { createServer } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import { streamSSE } from 'hono/streaming';
import type { SSEStreamingApi } from 'hono/streaming';
import { sleep, systemClock } from '../src/base/clock.ts';
import { silentLog } from '../src/base/log.ts';
import { createMetrics } from '../src/base/metrics.ts';
import { localBus } from '../src/bus/local-bus.ts';
import { START, after, next } from '../src/event/sequence.ts';
import type { Cursor, Sequence } from '../src/event/sequence.ts';
import { createRooms } from '../src/room/rooms.ts';
import { eventFrame } from '../src/sse/frame.ts';
import { openStream } from '../src/sse/writer.ts';

export const variants = ['ledgerline', 'raw TCP', 'chunked res.write', 'hono streamSSE'] as const;
export type Variant = (typeof variants)[number];

export type ServerRequest =
  /** `perSecond` 0: one event at a time, each after the last has left. */
  | { readonly do: 'send'; readonly events: number; readonly perSecond: number; readonly viewers: number }
  | { readonly do: 'memory' };

export interface Sent {
  readonly cpuMicros: number;
  /** Undefined where `send` itself writes to every viewer. */
  readonly writes: number | undefined;
}

interface Fan {
  readonly server: Server;
  /** Writes to viewers so far, where they do not all happen within `send`. */
  readonly writes?: () => number;
  send(sequence: Sequence, envelope: string): void;
}

/** 265 bytes as a frame, with the time at which it was sent. */
function envelopeOf(sequence: Sequence): string {
  const sentMs = (Number(process.hrtime.bigint()) / 1e6).toFixed(3);
  const start = `{"sequence":${sequence},"type":"text.delta","at":"2026-11-30T04:00:00.000Z","data":{"sentMs":${sentMs},"text":"`;
  const framing = eventFrame(sequence, '').length;
  return `${start.padEnd(265 - framing - 3, 'x')}"}}`;
}

const head = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nConnection: close\r\n\r\n';

const fans: Record<Variant, () => Promise<Fan>> = {
  async ledgerline() {
    let top: Cursor = START;
    let writes = 0;
    const metrics = createMetrics();
    const bus = localBus({ log: silentLog, metrics });
    const heads = (ids: readonly string[]) =>
      new Map(ids.map((id) => [id, { head: top, floor: START, state: 'open' as const }]));
    const rooms = createRooms({
      ledger: {
        heads: (ids) => Promise.resolve(heads(ids)),
        page: () => Promise.reject(new Error('every viewer is live in this bench')),
      },
      bus,
      clock: systemClock,
      log: silentLog,
      metrics,
    });
    await rooms.start();
    const server = createServer((_request, response) => {
      const join = async (): Promise<void> => {
        const now = await rooms.readHead('s');
        const writer = openStream(response, {});
        const write = writer.write.bind(writer);
        writer.write = (bytes) => {
          writes += 1;
          write(bytes);
        };
        if (now !== undefined) rooms.join({ session: 's', requested: { kind: 'head' }, head: now, writer });
      };
      void join();
    });
    return {
      server,
      writes: () => writes,
      send(sequence, envelope) {
        top = after(sequence);
        bus.publish('s', {
          kind: 'events',
          first: sequence,
          last: sequence,
          frames: Buffer.from(eventFrame(sequence, envelope)),
        });
      },
    };
  },
  'raw TCP'() {
    const sockets = new Set<Socket>();
    const server = createTcpServer({ noDelay: true }, (socket) => {
      socket.once('data', () => {
        socket.write(head);
        sockets.add(socket);
      });
      socket.on('error', () => socket.destroy());
      socket.on('close', () => sockets.delete(socket));
    });
    return Promise.resolve({
      server,
      send(sequence, envelope) {
        const frame = Buffer.from(eventFrame(sequence, envelope));
        for (const socket of sockets) socket.write(frame);
      },
    });
  },
  'chunked res.write'() {
    const responses = new Set<{ write(bytes: Buffer): boolean }>();
    const server = createServer((_request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8' }).flushHeaders();
      responses.add(response);
      response.on('close', () => responses.delete(response));
    });
    return Promise.resolve({
      server,
      send(sequence, envelope) {
        const frame = Buffer.from(eventFrame(sequence, envelope));
        for (const response of responses) response.write(frame);
      },
    });
  },
  'hono streamSSE'() {
    const streams = new Set<SSEStreamingApi>();
    const app = new Hono();
    app.get('/stream', (c) =>
      streamSSE(c, async (stream) => {
        streams.add(stream);
        await stream.writeSSE({ event: 'hello', data: '' });
        await new Promise<void>((resolve) => stream.onAbort(resolve));
        streams.delete(stream);
      }),
    );
    const listener = getRequestListener(app.fetch);
    return Promise.resolve({
      server: createServer((request, response) => void listener(request, response)),
      send(sequence, envelope) {
        for (const stream of streams) void stream.writeSSE({ id: String(sequence), data: envelope });
      },
    });
  },
};

/** The loop is idle between two events: no two of them share a system call unless the server makes them. */
const pauseMs = 15;

async function send(fan: Fan, cursor: Cursor, events: number, perSecond: number, viewers: number): Promise<Cursor> {
  let at = cursor;
  const before = fan.writes?.() ?? 0;
  const startedMs = performance.now();
  for (let sent = 0; sent < events;) {
    const due = perSecond === 0 ? sent + 1 : Math.min(events, ((performance.now() - startedMs) * perSecond) / 1_000);
    for (; sent < due; sent += 1) {
      const sequence = next(at);
      fan.send(sequence, envelopeOf(sequence));
      at = after(sequence);
    }
    await sleep(perSecond === 0 ? pauseMs : 1);
    // A sweep that takes turns may outlast the pause: an event sent meanwhile would share its writes with this one.
    const isSwept = (): boolean => fan.writes === undefined || fan.writes() - before >= sent * viewers;
    for (let look = 0; perSecond === 0 && look < 2_000 && !isSwept(); look += 1) await sleep(1);
  }
  // What a window still holds is part of the work.
  await sleep(pauseMs * 2);
  return at;
}

async function serve(variant: Variant): Promise<void> {
  const fan = await fans[variant]();
  let cursor: Cursor = START;
  await new Promise<void>((resolve) => void fan.server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 }, resolve));
  process.on('disconnect', () => process.exit());
  process.on('message', (request: ServerRequest) => {
    if (request.do === 'memory') {
      globalThis.gc?.();
      process.send?.(process.memoryUsage().rss);
      return;
    }
    const before = process.cpuUsage();
    const writesBefore = fan.writes?.() ?? 0;
    void send(fan, cursor, request.events, request.perSecond, request.viewers).then((at) => {
      cursor = at;
      const { user, system } = process.cpuUsage(before);
      const writes = fan.writes === undefined ? undefined : fan.writes() - writesBefore;
      process.send?.({ cpuMicros: user + system, writes } satisfies Sent);
    });
  });
  process.send?.((fan.server.address() as AddressInfo).port);
}

const asked = process.argv[2];
if (process.send !== undefined && asked !== undefined) await serve(asked as Variant);
