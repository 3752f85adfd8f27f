/** Ends a server: it stops accepting, lets what is in flight finish within a deadline, then cuts the rest. */
import type { EventEmitter } from 'node:events';
import type { IncomingMessage, Server } from 'node:http';
import type { Http2Server, ServerHttp2Session } from 'node:http2';
import { Socket } from 'node:net';
import { systemClock } from '../base/clock.ts';

export interface Graceful {
  readonly server: Server | Http2Server;
  stop(drainMs: number): Promise<void>;
}

export function gracefulHttp1(server: Server): Graceful {
  let isStopping = false;
  const silent = silentConnections(server);
  spareUnsent(server);
  // A kept connection that falls idle while the server stops would hold it until its own timeout.
  const closeIdle = (): void => {
    if (isStopping) server.closeIdleConnections();
  };
  server.on('request', (_, response) => void response.on('close', closeIdle));
  return {
    server,
    stop(drainMs) {
      isStopping = true;
      return closed(server, drainMs, {
        finish() {
          server.closeIdleConnections();
          // Browsers open connections in advance, and Node counts one that has not said a word as busy.
          for (const socket of silent) if (socket.bytesRead === 0) socket.destroy();
        },
        cut: () => server.closeAllConnections(),
      });
    },
  };
}

/**
 * Node takes a connection for idle as soon as its last answer was handed over, though most of that may still be on its way. One that
 * closes in stages has a bound of its own.
 */
function spareUnsent(server: Server): void {
  let isClosingIdle = false;
  const closeIdle = server.closeIdleConnections.bind(server);
  // Node's own `close` calls it, too.
  server.closeIdleConnections = () => {
    isClosingIdle = true;
    closeIdle();
    isClosingIdle = false;
  };
  // One function for all: an open stream keeps whatever is made for its connection.
  function destroy(this: Socket, error?: Error): Socket {
    const isBusy = this.writableLength > 0 || (this.writableEnded && !this.readableEnded);
    return isClosingIdle && isBusy ? this : Socket.prototype.destroy.call(this, error);
  }
  server.on('connection', (socket: Socket) => void (socket.destroy = destroy));
}

export function gracefulHttp2(server: Http2Server): Graceful {
  const sessions = membersOf<ServerHttp2Session>(server, 'session');
  const sockets = membersOf<Socket>(server, 'connection');
  return {
    server,
    stop(drainMs) {
      return closed(server, drainMs, {
        finish: () => sessions.forEach((session) => session.close()),
        // Not its session: one that was asked to close waits even then for its peer, who may take nothing any more.
        cut: () => sockets.forEach((socket) => socket.destroy()),
      });
    },
  };
}

const FEW_CONNECTIONS = 64;

/**
 * Those that have made no request yet. A listener for the close of each would last as long as its stream, in a list that grows by
 * many places at once; so those that closed without a request are forgotten when as many others have come.
 */
export function silentConnections(server: Pick<EventEmitter, 'on'>): ReadonlySet<Socket> {
  const silent = new Set<Socket>();
  let most = FEW_CONNECTIONS;
  server.on('connection', (socket: Socket) => {
    silent.add(socket);
    if (silent.size <= most) return;
    for (const one of silent) if (one.destroyed) silent.delete(one);
    most = silent.size * 2 + FEW_CONNECTIONS;
  });
  server.on('request', ({ socket }: IncomingMessage) => silent.delete(socket));
  return silent;
}

/** Those that a server announces by `event`, until each closes. */
function membersOf<Member extends EventEmitter>(server: Server | Http2Server, event: string): ReadonlySet<Member> {
  const members = new Set<Member>();
  // One function for all: an open stream keeps whatever is made for its connection.
  function forget(this: Member): void {
    members.delete(this);
  }
  (server as EventEmitter).on(event, (member: Member) => {
    members.add(member);
    member.on('close', forget);
  });
  return members;
}

function closed(
  server: Server | Http2Server,
  drainMs: number,
  { finish, cut }: { finish: () => void; cut: () => void },
): Promise<void> {
  if (!server.listening) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = systemClock.after(drainMs, cut);
    server.close(() => {
      timer.cancel();
      resolve();
    });
    finish();
  });
}
