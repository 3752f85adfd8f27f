/** May pages of an origin read from here: by the preflight, and by the answer itself (pure)? */
import type { Answer, Outcome } from './call.ts';
import { finding } from './finding.ts';
import type { Finding } from './finding.ts';

export interface OriginSeen {
  readonly url: string;
  readonly origin: string;
  readonly preflight: Outcome;
  readonly read: Outcome;
}

const ALLOW = 'access-control-allow-origin';

export function judgeOrigin({ url, origin, preflight, read }: OriginSeen): Finding {
  const answers = [preflight, read].filter((outcome): outcome is Answer => outcome.kind === 'answer');
  const named = answers.map(({ headers }) => headers[ALLOW] ?? 'none');
  const doubled = named.find((value) => value.includes(','));
  if (doubled !== undefined) {
    return finding(
      'origin_doubled',
      `the answer allows the origins ${doubled}: browsers take exactly one`,
      "let the gateway alone say it: no Access-Control headers of the proxy's own for /sessions (nginx: add_header; Caddy: header)",
    );
  }
  // Browsers ask nobody about a page of the very origin that it reads from.
  if (new URL(url).origin === origin) {
    return finding('origin_allowed', `pages of ${origin} may read: the address is of their own origin`);
  }
  const mayCarry = answers.every(({ headers }) => headers['access-control-allow-credentials'] === 'true');
  if (answers.length === 2 && named.every((value) => value === origin) && mayCarry) {
    return finding('origin_allowed', `pages of ${origin} may read, with credentials`);
  }
  return finding(
    'origin_refused',
    `pages of ${origin} may not read: the preflight allows ${named[0] ?? 'nothing'}, the answer ${named[1] ?? 'nothing'}`,
    `LEDGERLINE_ALLOWED_ORIGINS=${origin}, exactly; and let the proxy pass on Origin, OPTIONS and the Access-Control headers`,
  );
}
