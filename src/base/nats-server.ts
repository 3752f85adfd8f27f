/** Where a NATS server is and how to log in, read from its URL; and a look whether anybody answers there. */
import { createConnection } from 'node:net';
import { LedgerlineError } from './errors.ts';

export interface NatsServer {
  readonly hostname: string;
  readonly port: number;
  /** User and password, or a token, or nothing. */
  readonly login: { readonly user?: string; readonly pass?: string; readonly token?: string };
  readonly isTls: boolean;
}

const DEFAULT_PORT = 4222;

/** One server, or several of a cluster separated by commas: `nats://user:password@host:4222`, `tls://token@host`, `host`. */
export function parseServers(text: string): readonly NatsServer[] {
  return text.split(',').map((part) => parseServer(part.trim()));
}

function parseServer(text: string): NatsServer {
  const full = text.includes('://') ? text : `nats://${text}`;
  const url = URL.canParse(full) ? new URL(full) : undefined;
  if (url === undefined || url.hostname === '' || !['nats:', 'tls:'].includes(url.protocol)) {
    throw unreadable('a NATS URL looks like nats://host:4222 or tls://user:password@host:4222');
  }
  const [user, pass] = [decoded(url.username), decoded(url.password)];
  return {
    hostname: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? DEFAULT_PORT : Number(url.port),
    login: pass !== '' ? { user, pass } : user !== '' ? { token: user } : {},
    isTls: url.protocol === 'tls:',
  };
}

/** For logs: never the login. */
export const nameOf = (server: NatsServer): string => `${server.hostname}:${server.port}`;

/**
 * Resolves when the server sends its first bytes, which NATS does unasked. The client gives up a dial without closing
 * the socket (every try against a frozen server kept one open, also after it thawed), so the dial comes after this.
 */
export function knock(server: NatsServer, deadlineMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ host: server.hostname, port: server.port });
    const settle = (failure?: Error) => {
      signal.removeEventListener('abort', aborted);
      socket.destroy();
      if (failure === undefined) resolve();
      else reject(failure);
    };
    const aborted = () => settle(new Error('given up'));
    if (signal.aborted) return aborted();
    signal.addEventListener('abort', aborted);
    socket.setTimeout(deadlineMs, () => settle(new Error(`no answer within ${deadlineMs} ms`)));
    socket.once('data', () => settle());
    socket.once('error', settle);
    socket.once('end', () => settle(new Error('closed without a word')));
  });
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw unreadable('in the user and password of a NATS URL a % must be written as %25');
  }
}

const unreadable = (why: string): LedgerlineError => new LedgerlineError('configuration', why);
