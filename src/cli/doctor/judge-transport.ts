/** What the connection itself offers a browser: encryption, and more than six streams at a time (pure). */
import { finding } from './finding.ts';
import type { Finding } from './finding.ts';

export interface TransportSeen {
  readonly isTls: boolean;
  /** The machine itself: nobody listens in between. */
  readonly isLoopback: boolean;
  /** What was agreed on when HTTP/2 and HTTP/1.1 were offered. */
  readonly alpn: string | undefined;
}

export function judgeTransport({ isTls, isLoopback, alpn }: TransportSeen): Finding[] {
  if (isTls && alpn === 'h2') return [finding('http2', 'TLS, and HTTP/2 for browsers')];
  const http1 = finding(
    'http1',
    'browsers get HTTP/1.1 here, and open at most six connections to an origin: six tabs with a stream each stop it',
    `${isTls ? 'offer HTTP/2' : 'offer TLS with HTTP/2'} (nginx: http2 on; Caddy does by itself); @ledgerline/web-client shares one stream among tabs`,
  );
  if (isTls || isLoopback) return [http1];
  const plain = finding(
    'plain_http',
    'no TLS: tokens travel in the clear, and browsers do not send the cookie of a ticket unless it is made for that',
    'put a proxy with TLS in front; else LEDGERLINE_COOKIE_SECURE=false',
  );
  return [plain, http1];
}
