/** Closes a connection in stages: one that closes under unread bytes is reset, and its peer loses the answer that it had not read. */
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { systemClock } from '../base/clock.ts';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';

/**
 * From now on, who closes a connection behind its last answer does it in stages. By `destroySoon` that is Node, where either side
 * said `Connection: close`, and the adapter, where a body goes on for too long behind its answer; neither asks whether the peer still
 * sends [nodejs/node#12339].
 */
export function closeAnsweredInStages(server: Server): void {
  server.on('connection', (socket: Socket) => {
    socket.destroySoon = inStages;
  });
}

/**
 * Our side ends behind what was written. The peer's is read on, by whoever reads it, until it ends as well or has had its time
 * [spec: RFC 9112, 9.6]. A server that drains waits for it as for any other connection.
 */
export function closeInStages(socket: Duplex, clock: Clock = systemClock): void {
  if (!socket.writable) return;
  socket.end();
  const linger = clock.after(limits.lingerMs, () => socket.destroy());
  socket.once('close', () => linger.cancel());
}

const ignore = (): void => undefined;

/**
 * What comes on a connection that closes is read, and no more: taken apart it would be requests that pile up unanswered, as fast as a
 * peer can send them [I6]. A listener of its own takes the bytes away from Node's parser.
 */
export function discardRest(request: IncomingMessage): void {
  request.resume();
  request.socket.removeAllListeners('data').on('data', ignore);
}

/** One for all connections: what is made for each lasts as long as its stream. */
function inStages(this: Socket): void {
  closeInStages(this);
}
