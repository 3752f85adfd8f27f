/** Can a browser's own EventSource get in, and back in: by a ticket in the address, and the cookie that it leaves (pure)? */
import { PASS_COOKIE } from '../../http/cookie.ts';
import { said } from './call.ts';
import type { Outcome } from './call.ts';
import { isLoopback } from './deployment.ts';
import { finding } from './finding.ts';
import type { Finding } from './finding.ts';

export interface TicketSeen {
  readonly url: string;
  readonly session: string;
  readonly minted: Outcome;
  /** The stream's answer to the ticket in its address. */
  readonly redeemed: { readonly status: number; readonly setCookie: readonly string[] } | undefined;
  /** The session, asked for with the token in a cookie; undefined where no token is known. */
  readonly byCookie: Outcome | undefined;
  /** Of the page that will read, where it was given. */
  readonly origin: string | undefined;
}

export function judgeTicket(seen: TicketSeen): Finding[] {
  const { minted, redeemed } = seen;
  if (minted.kind === 'none' || minted.status !== 201) {
    return [
      finding(
        'ticket_refused',
        `asked for a ticket, the gateway answers ${said(minted)}`,
        'it takes the scope read, by Bearer',
      ),
    ];
  }
  if (redeemed?.status !== 200) {
    return [
      finding(
        'ticket_lost',
        `a ticket was given out, and the stream that it should open is answered ${redeemed?.status ?? 'not at all'}`,
        'pass the query of /sessions/…/stream on; all gateways must have the same LEDGERLINE_TOKEN_SECRET',
      ),
    ];
  }
  return [
    finding('ticket_opens', 'a ticket in the address opens the stream'),
    judgePass(seen, redeemed.setCookie),
    ...judgeCookies(seen),
  ];
}

function judgePass({ url, session, origin }: TicketSeen, setCookie: readonly string[]): Finding {
  const text = setCookie.find((cookie) => cookie.startsWith(`${PASS_COOKIE}=`));
  if (text === undefined) {
    return finding(
      'pass_lost',
      `the answer lacks the cookie ${PASS_COOKIE}: a browser cannot come back after five minutes`,
      'pass Set-Cookie of /sessions/…/stream on (nginx: no proxy_hide_header Set-Cookie; caches and CDNs often drop it)',
    );
  }
  const [, ...attributes] = text.split(';').map((part) => part.trim().toLowerCase());
  const { protocol, pathname, origin: own } = new URL(`${url}/sessions/${session}/stream`);
  const path = attributes.find((attribute) => attribute.startsWith('path='))?.slice('path='.length);
  if (path !== pathname.toLowerCase()) {
    return finding(
      'pass_unusable',
      `the cookie ${PASS_COOKIE} is for ${path ?? 'no path'}, and the stream is at ${pathname}: browsers will not send it`,
      'move the path of cookies with the routes: nginx: proxy_cookie_path / /prefix/; Caddy: header_down Set-Cookie with a replacement',
    );
  }
  const isSecure = attributes.includes('secure');
  if (isSecure && protocol === 'http:' && isLoopback(url)) {
    return finding(
      'pass_elsewhere',
      `the cookie ${PASS_COOKIE} is Secure, for readers who come over TLS, and this address is the machine's own`,
      'look at the address that readers have; where they come without TLS, LEDGERLINE_COOKIE_SECURE=false',
    );
  }
  if (isSecure && protocol === 'http:') {
    return finding(
      'pass_unusable',
      `the cookie ${PASS_COOKIE} is Secure, and the address is not https: browsers do not send it`,
      'serve over TLS; where there is none, LEDGERLINE_COOKIE_SECURE=false',
    );
  }
  if (origin !== undefined && !isSameSite(origin, own) && !attributes.includes('samesite=none')) {
    return finding(
      'pass_unusable',
      `the cookie ${PASS_COOKIE} is for pages of the gateway's own site, and ${origin} is another`,
      'LEDGERLINE_COOKIE_CROSS_SITE=true, and withCredentials for EventSource',
    );
  }
  if (!isSecure && protocol === 'https:') {
    return finding(
      'pass_insecure',
      `the cookie ${PASS_COOKIE} comes over TLS without Secure`,
      'LEDGERLINE_COOKIE_SECURE=true, which is the default of `ledgerline serve`',
    );
  }
  return finding('pass_arrives', `the cookie ${PASS_COOKIE} arrives, for ${pathname}`);
}

/** As far as names tell without the list of public suffixes: the last two labels. */
function isSameSite(one: string, other: string): boolean {
  const site = (origin: string): string => {
    const { protocol, hostname } = new URL(origin);
    const isName = !/^[\d.]+$|^\[/.test(hostname);
    return `${protocol}//${isName ? hostname.split('.').slice(-2).join('.') : hostname}`;
  };
  return site(one) === site(other);
}

function judgeCookies({ byCookie }: TicketSeen): Finding[] {
  if (byCookie === undefined) return [];
  if (byCookie.kind === 'answer' && byCookie.status === 200) {
    return [finding('cookies_arrive', 'a cookie reaches the gateway, and so does that of a browser that comes back')];
  }
  return [
    finding(
      'cookies_lost',
      `asked with the token in a cookie, the gateway answers ${said(byCookie)}`,
      'pass Cookie on to the gateway (nginx does unless proxy_set_header Cookie says otherwise; CDNs: forward cookies of /sessions)',
    ),
  ];
}
