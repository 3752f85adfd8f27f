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
 * asks for anything else is always heard, so that no append waits for a herd.
 */
export function holdFloods(server: Server, clock: Clock): void {
  const quiet = new Set<Socket>();
  let turnBeganMs: number | undefined;
  let isHolding = false;

  function heard(): void {
    if (isHolding) return;
    if (turnBeganMs === undefined) {
      turnBeganMs = clock.now();
      clock.soon(() => (turnBeganMs = undefined));
    } else if (clock.now() - turnBeganMs >= FLOOD_MS) hold();
  }

  function hold(): void {
    isHolding = true;
    for (const socket of quiet) socket.pause();
    const held = quiet.values();
    const readSome = (): void => {
      for (let count = 0; count < SOCKETS_A_TURN; count += 1) {
        const step = held.next();
        if (step.done === true) return void (isHolding = false);
        step.value.resume();
      }
      clock.soon(readSome);
    };
    clock.soon(readSome);
  }

  server.on('connection', (socket: Socket) => {
    quiet.add(socket);
    socket.once('end', heard);
    socket.once('close', () => {
      quiet.delete(socket);
      heard();
    });
  });
  server.on('request', (request: IncomingMessage) => {
    if (isForStream(request)) quiet.add(request.socket);
    else quiet.delete(request.socket);
    heard();
  });
}
