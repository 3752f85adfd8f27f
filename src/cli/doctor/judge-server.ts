/** Is there a gateway at the address, is it one of this protocol, and is it ready (pure)? */
import { PROTOCOL_VERSION } from '../../http/observe.ts';
import { isLedgerline, problemOf, said } from './call.ts';
import type { Outcome } from './call.ts';
import { finding, inWords } from './finding.ts';
import type { Finding } from './finding.ts';

export interface ServerSeen {
  readonly url: string;
  /** `GET /sessions` without a credential: a route that every proxy passes on, and that a gateway refuses. */
  readonly door: Outcome;
}

/** The first finding of all; nothing else is looked at behind a fault, but for another protocol. */
export function judgeServer({ url, door }: ServerSeen): Finding {
  if (door.kind === 'none') {
    return finding('unreachable', `${url} does not answer: ${door.why}`, whyUnreachable(door.why));
  }
  const { status, headers, tookMs } = door;
  if (isLedgerline(door)) {
    const protocol = headers['ledgerline-protocol'];
    if (protocol === undefined) {
      return finding(
        'protocol_hidden',
        `${url} is Ledgerline, but its answers lack the header Ledgerline-Protocol`,
        'let the proxy pass all headers of the answers (nginx: no proxy_hide_header; Caddy: no header_down -Ledgerline-Protocol)',
      );
    }
    if (protocol === PROTOCOL_VERSION) {
      return finding('reachable', `${url} answers in protocol ${PROTOCOL_VERSION}, within ${inWords(tookMs)}`);
    }
    return finding(
      'protocol_differs',
      `${url} speaks protocol ${String(protocol)}, this release ${PROTOCOL_VERSION}`,
      'use the doctor of the release that serves there',
    );
  }
  if (status >= 300 && status < 400) {
    return finding(
      'redirected',
      `${url} answers ${status}, to ${originOf(headers.location)}`,
      'give readers the address that it leads to: a redirect to another origin loses the token',
    );
  }
  if (status === 502 || status === 503 || status === 504) {
    return finding(
      'no_gateway',
      `a proxy at ${url} answers ${status}, and no gateway behind it`,
      'check its upstream, and that `ledgerline serve` runs there: it refuses to start with wrong or missing settings, such ' +
        'as no LEDGERLINE_TOKEN_SECRET, and says which (exit code 2)',
    );
  }
  return finding(
    'not_ledgerline',
    `${url}/sessions answers ${status}, and not as Ledgerline does`,
    'pass /sessions and /turns on to the gateway with their paths as they are; the address ends where /sessions begins',
  );
}

function whyUnreachable(why: string): string {
  // Bytes that are no HTTP/1.1 are a parser's `HPE_…` to Node.
  if (why.startsWith('HPE_')) {
    return (
      'something else than HTTP/1.1 is spoken there: with LEDGERLINE_HTTP2=true a gateway speaks HTTP/2 in the clear, for a proxy: ' +
      'give the address of that proxy; or it is TLS, and the address begins with https'
    );
  }
  if (/CERT|SIGNATURE|ALTNAME/.test(why)) {
    return 'browsers refuse its certificate, too: renew it, or let it be signed by whom they know; one of your own goes into NODE_EXTRA_CA_CERTS';
  }
  return (
    'check the address, its DNS name and port, and that `ledgerline serve` runs: it refuses to start with ' +
    'wrong or missing settings, such as no LEDGERLINE_TOKEN_SECRET, and says which'
  );
}

const originOf = (location: string | undefined): string =>
  location !== undefined && URL.canParse(location) ? new URL(location).origin : 'somewhere on the same address';

export interface ReadinessSeen {
  /** Where it was asked. */
  readonly url: string;
  readonly health: Outcome;
  readonly readiness: Outcome;
}

export function judgeReadiness({ url, health, readiness }: ReadinessSeen): Finding {
  if (!isLedgerline(readiness) || !isLedgerline(health)) {
    return finding(
      'readiness_unseen',
      `${url}/healthz and /readyz are not passed on (${said(readiness)})`,
      'they need not be; to look at them, set LEDGERLINE_INTERNAL_URL and LEDGERLINE_KEY',
    );
  }
  if (readiness.status === 200) {
    return finding('ready', '/healthz and /readyz answer 200: the gateway lives, and reaches Postgres');
  }
  if (problemOf(readiness)?.code === 'draining') {
    return finding('draining', '/readyz answers 503: this gateway is going away', 'route readers to another one');
  }
  return finding(
    'database_away',
    `/readyz answers ${said(readiness)}: no round trip to Postgres within 2 s`,
    'check Postgres and DATABASE_URL of the gateway; open streams wait, appends are refused meanwhile',
  );
}
