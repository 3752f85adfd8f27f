/**
 * Keeps what comes on thousands of sockets at once from becoming one turn of the event loop [I9]. libuv goes on polling while there is more, and
 * Node parses each request and takes leave of each end before anybody else is heard. Here that has a part of a turn: when it is used up,
 * quiet sockets are not read any more, and are read again a few at a turn.
 */
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import { isForStream } from './reader-line.ts';

const FLOOD_MS = limits.turnMs * 5;
/** What they bring comes in the next poll, so that its time is known too late: a request costs 25 µs there, an end 60 [bench]. */
const SOCKETS_A_TURN = 64;

/**
 * Quiet is a connection that has not asked yet, or whose reader follows a stream: nothing is lost by hearing it a moment later. Whoever
 * has asked for anything else is always heard: on a connection that is kept no append waits for a herd.
 */
export function holdFloods(server: Server, clock: Clock): void {
  const quiet = new Set<Socket>();
  let turnBeganMs: number | undefined;
  let heardInTurn = 0;
  let isHolding = false;

  /** A few in a long turn are no flood, and did not make it long: to hold ten thousand who say nothing is itself one [bench]. */
  function heard(): void {
    if (isHolding) return;
    heardInTurn += 1;
    if (turnBeganMs === undefined) {
      turnBeganMs = clock.now();
      heardInTurn = 1;
      clock.soon(() => (turnBeganMs = undefined));
    } else if (heardInTurn >= SOCKETS_A_TURN && clock.now() - turnBeganMs >= FLOOD_MS) hold();
  }

  /** One for all, as `heard` is: what is made for each connection lasts as long as its stream. */
  function forget(this: Socket): void {
    quiet.delete(this);
    heard();
  }

  function hold(): void {
    isHolding = true;
    // Node holds some by itself, behind a body that nobody reads: those are not to be read on [I6].
    const read = [...quiet].filter((socket) => !socket.isPaused());
    for (const socket of read) socket.pause();
    const held = read.values();
    const readSome = (): void => {
      for (let count = 0; count < SOCKETS_A_TURN; count += 1) {
        const step = held.next();
        if (step.done === true) return void (isHolding = false);
        if (quiet.has(step.value)) step.value.resume();
      }
      clock.soon(readSome);
    };
    clock.soon(readSome);
  }

  server.on('connection', (socket: Socket) => {
    quiet.add(socket);
    socket.on('end', heard).on('close', forget);
  });
  server.on('request', (request: IncomingMessage) => {
    if (isForStream(request)) quiet.add(request.socket);
    else quiet.delete(request.socket);
    heard();
  });
}
