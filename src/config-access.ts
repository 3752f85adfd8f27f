/** The settings of who may: tokens, cookies, and how much of a gateway a session or a token may have. */
import { address, claim, makeOne, rate, secret, yesOrNo } from './config-values.ts';

/** Reads variables one by one; `config` makes it. */
export interface Settings {
  readonly optional: <T, Default>(name: string, parse: (text: string) => T, absent: Default) => T | Default;
  readonly required: (name: string, parse: (text: string) => string, purpose: string) => string;
  /** For what is wrong with several of them together. */
  readonly fault: (text: string) => void;
  /** Throws what was wrong, all of it. */
  readonly refuse: () => void;
}

export interface TokenConfig {
  /** Signs readers' tokens (HS256); absent where an issuer alone does. */
  readonly tokenSecret: string | undefined;
  /** Still verifies while tokens of the one before are about. */
  readonly previousTokenSecret: string | undefined;
  /** Where the public keys of the tokens' issuer are. */
  readonly jwksUrl: string | undefined;
  readonly tokenIssuer: string | undefined;
  readonly tokenAudience: string | undefined;
}

export interface CookieConfig {
  readonly isSecure: boolean;
  readonly isCrossSite: boolean;
}

/** What one gateway lets through, by session and by token. */
export interface RateConfig {
  readonly sessionEvents: number;
  readonly sessionBytes: number;
  readonly tokenWrites: number;
  readonly sessionStreams: number;
  readonly tokenStreams: number;
}

/** By a secret, by an issuer's keys, or both. */
export function tokenConfig({ optional, required }: Settings): TokenConfig {
  const jwksUrl = optional('LEDGERLINE_JWKS_URL', address, undefined);
  const isByIssuer = jwksUrl !== undefined;
  const purpose = `signs the readers' tokens: ${makeOne} (or set LEDGERLINE_JWKS_URL)`;
  return {
    tokenSecret: isByIssuer
      ? optional('LEDGERLINE_TOKEN_SECRET', secret, undefined)
      : required('LEDGERLINE_TOKEN_SECRET', secret, purpose),
    previousTokenSecret: optional('LEDGERLINE_TOKEN_SECRET_PREVIOUS', secret, undefined),
    jwksUrl,
    ...tokenClaims(optional),
  };
}

export const tokenClaims = (optional: Settings['optional']) => ({
  tokenIssuer: optional('LEDGERLINE_TOKEN_ISSUER', claim, undefined),
  tokenAudience: optional('LEDGERLINE_TOKEN_AUDIENCE', claim, undefined),
});

export function cookieConfig({ optional, fault }: Settings): CookieConfig {
  const isSecure = optional('LEDGERLINE_COOKIE_SECURE', yesOrNo, true);
  const isCrossSite = optional('LEDGERLINE_COOKIE_CROSS_SITE', yesOrNo, false);
  if (isCrossSite && !isSecure)
    fault('LEDGERLINE_COOKIE_CROSS_SITE needs LEDGERLINE_COOKIE_SECURE: no browser takes it else');
  return { isSecure, isCrossSite };
}

export const rateConfig = ({ optional }: Settings): RateConfig => ({
  sessionEvents: optional('LEDGERLINE_SESSION_EVENTS_PER_SECOND', rate, 50_000),
  sessionBytes: optional('LEDGERLINE_SESSION_BYTES_PER_SECOND', rate, 100_000_000),
  tokenWrites: optional('LEDGERLINE_TOKEN_WRITES_PER_SECOND', rate, 1_000),
  sessionStreams: optional('LEDGERLINE_SESSION_STREAMS', rate, 50_000),
  tokenStreams: optional('LEDGERLINE_TOKEN_STREAMS', rate, 20_000),
});
