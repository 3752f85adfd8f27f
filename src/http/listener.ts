/** A port and its server: HTTP/1, or HTTP/2 in the clear behind a proxy that wants it. */
import { createServer } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { RequestError, getRequestListener } from '@hono/node-server';
import { systemClock } from '../base/clock.ts';
import { LedgerlineError, toError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import { detach } from '../base/service.ts';
import type { Service } from '../base/service.ts';
import { answerBadRequests } from './bad-request.ts';
import type { App } from './context.ts';
import { holdFloods } from './floodgate.ts';
import { gracefulHttp1, gracefulHttp2 } from './graceful.ts';
import type { Graceful } from './graceful.ts';
import { PROTOCOL_HEADER, PROTOCOL_VERSION } from './observe.ts';
import { problem } from './problem.ts';
import { readersInLine } from './reader-line.ts';
import type { Serve } from './reader-line.ts';
import { closeAnsweredInStages, discardRest } from './staged-close.ts';
import type { Turnstile } from './turnstile.ts';

export interface ListenerOptions {
  readonly name: string;
  readonly app: App;
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly isHttp2: boolean;
  readonly log: Log;
  /** For readers, in front of all that a request costs; left out where nothing is followed. */
  readonly turnstile?: Turnstile;
  /** How long requests in flight may take once it stops. */
  readonly drainMs?: number;
}

export interface Listener extends Service {
  /** After the start. */
  readonly url: string;
}

export function createListener(options: ListenerOptions): Listener {
  const server = options.isHttp2 ? http2Server(options) : http1Server(options);
  let url: string | undefined;
  let stopped: Promise<void> | undefined;
  return {
    name: options.name,
    async start() {
      url = await listen(server, options);
      options.log.info({ service: options.name, url }, 'listening');
    },
    stop() {
      stopped ??= server.stop(options.drainMs ?? limits.drainMs);
      return stopped;
    },
    get url() {
      if (url === undefined) throw new LedgerlineError('configuration', `${options.name} has not started`);
      return url;
    },
  };
}

/** Shared by both: HTTP/1.0 requests may come without a host; the globals of the process stay its own. */
function requestListener({ app, log, turnstile }: ListenerOptions): Serve {
  const listener = getRequestListener(app.fetch, {
    hostname: 'localhost',
    overrideGlobalObjects: false,
    errorHandler(thrown) {
      const isRequestFault = thrown instanceof RequestError;
      if (!isRequestFault) log.error({ err: toError(thrown) }, 'a request failed outside its route');
      const { status, headers, body } = problem(
        isRequestFault
          ? new LedgerlineError('malformed', 'the address of the request is malformed', { where: 'url' })
          : new LedgerlineError('internal', 'an unexpected error'),
      );
      return new Response(body, { status, headers: { ...headers, [PROTOCOL_HEADER]: PROTOCOL_VERSION } });
    },
  });
  const serve: Serve = (...exchange) => detach(listener(...exchange), log, 'a request failed outside its route');
  return turnstile === undefined ? serve : readersInLine(turnstile, serve, log);
}

function http1Server(options: ListenerOptions): Graceful {
  const listener = requestListener(options);
  const server = createServer(
    {
      headersTimeout: limits.headerTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      keepAliveTimeout: limits.keepAliveMs,
      maxHeaderSize: limits.headerBytes,
      // Of two keys, or two types, none counts: by itself Node keeps the first and says nothing of the second.
      joinDuplicateHeaders: true,
      // Finds peers that vanished without a word.
      keepAlive: true,
      keepAliveInitialDelay: limits.keepAliveMs,
    },
    (incoming, outgoing) => {
      if (incoming.socket.writable) listener(incoming, outgoing);
      // Behind the last answer of its connection nobody could be told what became of it.
      else discardRest(incoming);
    },
  );
  closeAnsweredInStages(server);
  answerBadRequests(server, options.log);
  holdFloods(server, systemClock);
  return gracefulHttp1(server);
}

function http2Server(options: ListenerOptions): Graceful {
  const server = createHttp2Server(
    {
      settings: { maxHeaderListSize: limits.headerBytes, maxConcurrentStreams: limits.http2Streams },
      // In millions of bytes. Node's own 10 are what 50 slow readers leave unsent, and then it refuses the others [I9].
      maxSessionMemory: Math.ceil(limits.http2ConnectionBytes / 1_000_000),
    },
    requestListener(options),
  );
  // A peer's broken session ends that session.
  server.on('sessionError', (error: Error) => options.log.debug({ err: error }, 'an HTTP/2 session broke'));
  return gracefulHttp2(server);
}

async function listen({ server }: Graceful, { name, host, port }: ListenerOptions): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException): void => reject(cannotListen(error, name, host, port));
    server.once('error', onError);
    server.listen({ host, port, backlog: limits.listenBacklog }, () => {
      server.off('error', onError);
      resolve();
    });
  });
  const address = server.address() as AddressInfo;
  return `http://${hostOf(address)}:${address.port}`;
}

/** Where this machine reaches it: an unspecified address is listened on, not connected to. */
function hostOf({ address, family }: AddressInfo): string {
  if (address === '0.0.0.0' || address === '::') return 'localhost';
  return family === 'IPv6' ? `[${address}]` : address;
}

function cannotListen(error: NodeJS.ErrnoException, name: string, host: string, port: number): LedgerlineError {
  const place = `port ${port} on ${host}`;
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: `${place} is taken: stop what listens there, or choose another port`,
    EACCES: `${place} is not allowed for this user: choose a port above 1023`,
    EADDRNOTAVAIL: `${host} is not an address of this machine: choose one that is, or 0.0.0.0 for all`,
    ENOTFOUND: `${host} is not an address of this machine: choose one that is, or 0.0.0.0 for all`,
  };
  const reason = reasons[error.code ?? ''] ?? `${place} cannot be listened on (${error.code ?? error.message})`;
  return new LedgerlineError('configuration', `the ${name} cannot start: ${reason}`, { host, port }, error);
}
