/** The readers of a measurement: many raw connections in a process of their own, which count what arrives and look at its age. */
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { sleep } from '../../src/base/clock.ts';
import type { HttpRequest } from '../peers/peer.ts';
import { parseAnswer } from './connection.ts';
import { FrameCounter, agesMs } from './frame-counter.ts';
import { requestText } from './request-text.ts';

/** What a stream must have brought before it counts as open, or as caught up. */
export type Until = 'first bytes' | 'connected';

export type ReaderRequest =
  /** A connection for each request, at most `side` of them opening at a time. */
  | {
      readonly do: 'open';
      readonly port: number;
      readonly requests: readonly HttpRequest[];
      readonly until: Until;
      readonly side: number;
      /** How many of them look at the age of what they get, which costs them more than all else; all of them count. */
      readonly looking: number;
    }
  /** From now on nothing is read: the kernels' buffers fill, and then the server's. */
  | { readonly do: 'stall' }
  | { readonly do: 'cut' }
  | { readonly do: 'report' };

export interface ReaderReport {
  readonly frames: number;
  readonly bytes: number;
  readonly agesMs: readonly number[];
  /** Times that a server told a reader to come back later. */
  readonly turnedAway: number;
}

/** What a reader keeps of what a server said, to tell how it ended. */
const KEPT_BYTES = 600;

const connected = Buffer.from('event: connected');
const sockets = new Set<{ readonly socket: Socket; readonly counter: FrameCounter }>();
let turnedAway = 0;
let bytes = 0;
let ages: number[] = [];

interface Opening {
  readonly port: number;
  readonly request: HttpRequest;
  readonly until: Until;
  readonly isLooking: boolean;
}

/** Undefined when it is open; else what the server said before it closed the connection. */
function tryToOpen({ port, request, until, isLooking }: Opening): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    const reader = { socket, counter: new FrameCounter() };
    sockets.add(reader);
    let isOpen = false;
    let last = Buffer.alloc(0);
    socket.once('error', reject);
    socket.once('close', () => {
      if (!isOpen) sockets.delete(reader);
      resolve(last.toString('latin1'));
    });
    socket.on('data', (chunk) => {
      bytes += chunk.length;
      reader.counter.add(chunk);
      if (isLooking) for (const age of agesMs(chunk)) ages.push(age);
      if (isOpen) return;
      const seam = Buffer.concat([last, chunk.subarray(0, connected.length)]);
      isOpen = until === 'first bytes' || chunk.includes(connected) || seam.includes(connected);
      last = Buffer.concat([last, chunk.subarray(-KEPT_BYTES)]).subarray(-KEPT_BYTES);
      if (isOpen) resolve(undefined);
      // A whole answer is no stream; its server keeps the connection for another request.
      else if (parseAnswer(last.toString('latin1')) !== undefined) socket.destroy();
    });
    socket.write(requestText(request));
  });
}

/** A server that cannot take a reader now says when to come back, and a reader does, as a browser would. */
async function openOne(opening: Opening): Promise<void> {
  for (;;) {
    const said = await tryToOpen(opening);
    if (said === undefined) return;
    const retryMs = /\nretry: (\d+)\n/.exec(said)?.[1];
    if (retryMs === undefined) throw new Error(`a stream was closed by its server, which had said: ${said}`);
    turnedAway += 1;
    await sleep(Number(retryMs));
  }
}

async function open({ port, requests, until, side, looking }: Extract<ReaderRequest, { do: 'open' }>): Promise<void> {
  const everyNth = Math.ceil(requests.length / looking);
  let next = 0;
  const line = async (): Promise<void> => {
    for (let index = next++; index < requests.length; index = next++) {
      await openOne({ port, request: requests[index]!, until, isLooking: looking > 0 && index % everyNth === 0 });
    }
  };
  await Promise.all(Array.from({ length: Math.min(side, requests.length) }, line));
}

async function answer(request: ReaderRequest): Promise<unknown> {
  switch (request.do) {
    case 'open':
      await open(request);
      return 'open';
    case 'stall':
      for (const { socket } of sockets) socket.pause();
      return 'stalled';
    case 'cut':
      for (const { socket } of sockets) socket.destroy();
      sockets.clear();
      return 'cut';
    case 'report': {
      let frames = 0;
      for (const { counter } of sockets) {
        frames += counter.frames;
        counter.frames = 0;
      }
      const report: ReaderReport = { frames, bytes, agesMs: ages, turnedAway };
      bytes = 0;
      turnedAway = 0;
      ages = [];
      return report;
    }
  }
}

process.on('disconnect', () => process.exit());
process.on('message', (request: ReaderRequest) => {
  answer(request).then(
    (value) => process.send?.({ value }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
process.send?.({ value: 'ready' });
