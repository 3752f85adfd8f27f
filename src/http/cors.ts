/** Which pages of other origins may read answers: those on the list, each named exactly, never `*`. */
import type { Before } from './observe.ts';

const PREFLIGHT_SECONDS = 600;

export function cors(allowedOrigins: readonly string[]): Before {
  const allowed = new Set(allowedOrigins);
  return (c) => {
    // Also on an answer without the other headers: a cache must not hand it to an origin that may [spec: Fetch, 3.3.5].
    c.header('Vary', 'Origin');
    const origin = c.req.header('origin');
    const isAllowed = origin !== undefined && allowed.has(origin);
    if (isAllowed) {
      c.header('Access-Control-Allow-Origin', origin);
      c.header('Access-Control-Allow-Credentials', 'true');
      c.header('Access-Control-Expose-Headers', 'Ledgerline-Protocol, Preference-Applied, Retry-After');
    }
    if (c.req.method !== 'OPTIONS' || c.req.header('access-control-request-method') === undefined) return undefined;
    c.get('notes').route = 'preflight';
    if (isAllowed) {
      c.header('Access-Control-Allow-Methods', 'GET, POST, DELETE');
      c.header('Access-Control-Allow-Headers', 'Authorization, Content-Type, Last-Event-ID, Prefer, Traceparent');
      c.header('Access-Control-Max-Age', String(PREFLIGHT_SECONDS));
    }
    return c.body(null, 204);
  };
}
