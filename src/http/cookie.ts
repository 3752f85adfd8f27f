/** Cookies, read and made [spec: RFC 6265] (pure). */

/** Set by an application's back end, with a token in it. */
export const TOKEN_COOKIE = 'ledgerline_token';
/** Set here, when a ticket is redeemed, for the path of its stream alone. */
export const PASS_COOKIE = 'ledgerline_pass';

/** How an operator serves. */
export interface CookieRules {
  /** Browsers send it over TLS alone. */
  readonly isSecure: boolean;
  /** Pages of other sites may send it, too. */
  readonly isCrossSite: boolean;
}

/** The first of its name: the one whose path fits best comes first [spec: RFC 6265, 5.4]. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  for (const pair of (header ?? '').split(';')) {
    const [key, ...value] = pair.split('=');
    if (key?.trim() === name) return value.join('=').trim();
  }
  return undefined;
}

export interface Cookie {
  readonly name: string;
  /** Of characters that need no quotes: base64url and dots. */
  readonly value: string;
  readonly path: string;
  readonly maxAgeSeconds: number;
}

/** No script ever reads it. One for other sites is kept apart for each of them, which is how browsers still take it. */
export function cookieText(
  { name, value, path, maxAgeSeconds }: Cookie,
  { isSecure, isCrossSite }: CookieRules,
): string {
  return [
    `${name}=${value}`,
    `Path=${path}`,
    `Max-Age=${maxAgeSeconds}`,
    'HttpOnly',
    isCrossSite ? 'SameSite=None' : 'SameSite=Strict',
    ...(isSecure || isCrossSite ? ['Secure'] : []),
    ...(isCrossSite ? ['Partitioned'] : []),
  ].join('; ');
}
