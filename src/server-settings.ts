/** The settings of a server that runs inside another program: each is one variable of the environment, under its name there. */

/**
 * What a server is set to. A setting is the variable of docs/OPERATIONS.md in camelCase, without `LEDGERLINE_`, and has the
 * variable's meaning, unit and default. What is undefined or an empty text counts as absent.
 */
export interface ServerSettings {
  /** `postgres://user:password@host:5432/database`. Required. */
  readonly databaseUrl: string;
  /** `false` behind a pooler in transaction mode. `true` if left out. */
  readonly databasePrepare?: boolean | undefined;
  /** `nats://host:4222`, several separated by commas. Without it this must be the only server of its database. */
  readonly natsUrl?: string | undefined;
  /** The first words of every subject. `ledgerline` if left out. */
  readonly natsSubjectRoot?: string | undefined;

  /** Where readers come, with tokens. `0.0.0.0` if left out. */
  readonly publicHost?: string | undefined;
  /** 0 takes a free one. 8080 if left out. */
  readonly publicPort?: number | undefined;
  /** Where producers and operators come, with the key: keep it from the outside. `127.0.0.1` if left out. */
  readonly internalHost?: string | undefined;
  /** 0 takes a free one. 8081 if left out. */
  readonly internalPort?: number | undefined;
  /** The public listener speaks HTTP/2 in the clear instead of HTTP/1, for a proxy that wants it. `false` if left out. */
  readonly http2?: boolean | undefined;
  /** Origins whose pages may read answers, exact: `https://app.example.com`. None if left out. */
  readonly allowedOrigins?: readonly string[] | undefined;

  /** What producers present on the internal listener: at least 32 visible characters. Required. */
  readonly internalKey: string;
  /** Verifies readers' tokens (HS256): at least 32 characters. Required without `jwksUrl`. */
  readonly tokenSecret?: string | undefined;
  /** The one before, which still verifies while its tokens are about. */
  readonly tokenSecretPrevious?: string | undefined;
  /** Where the public keys of an issuer of tokens are; beside the secret or instead of it. */
  readonly jwksUrl?: string | undefined;
  /** What `iss` of every token must be. */
  readonly tokenIssuer?: string | undefined;
  /** What `aud` of every token must be, or hold. */
  readonly tokenAudience?: string | undefined;
  /** `false` where browsers come without TLS. `true` if left out. */
  readonly cookieSecure?: boolean | undefined;
  /** `true` where the page is of another site than the server. `false` if left out. */
  readonly cookieCrossSite?: boolean | undefined;

  /** Events in a second, appended to one session. */
  readonly sessionEventsPerSecond?: number | undefined;
  /** Bytes in a second, appended to one session. */
  readonly sessionBytesPerSecond?: number | undefined;
  /** Requests in a second of one token that change something. */
  readonly tokenWritesPerSecond?: number | undefined;
  /** Open at a time for one session. */
  readonly sessionStreams?: number | undefined;
  /** Open at a time for one token. */
  readonly tokenStreams?: number | undefined;

  /** `info` if left out. */
  readonly logLevel?: 'debug' | 'info' | 'warn' | 'error' | 'silent' | undefined;
  /** How long `stop` may take, in milliseconds. 10,000 if left out. */
  readonly drainMs?: number | undefined;
  /** Over how long the readers of a server that stops come back, in milliseconds. 5,000 if left out. */
  readonly goawayWindowMs?: number | undefined;
  /** How long a turn waits for further messages, in milliseconds. 150 if left out. */
  readonly debounceMs?: number | undefined;
  /** How long a turn is its worker's without a sign of life, in milliseconds; the same for servers and workers. 30,000 if left out. */
  readonly leaseMs?: number | undefined;
}

export const variables = {
  databaseUrl: 'DATABASE_URL',
  databasePrepare: 'LEDGERLINE_DATABASE_PREPARE',
  natsUrl: 'NATS_URL',
  natsSubjectRoot: 'LEDGERLINE_NATS_SUBJECT_ROOT',
  publicHost: 'LEDGERLINE_PUBLIC_HOST',
  publicPort: 'LEDGERLINE_PUBLIC_PORT',
  internalHost: 'LEDGERLINE_INTERNAL_HOST',
  internalPort: 'LEDGERLINE_INTERNAL_PORT',
  http2: 'LEDGERLINE_HTTP2',
  allowedOrigins: 'LEDGERLINE_ALLOWED_ORIGINS',
  internalKey: 'LEDGERLINE_INTERNAL_KEY',
  tokenSecret: 'LEDGERLINE_TOKEN_SECRET',
  tokenSecretPrevious: 'LEDGERLINE_TOKEN_SECRET_PREVIOUS',
  jwksUrl: 'LEDGERLINE_JWKS_URL',
  tokenIssuer: 'LEDGERLINE_TOKEN_ISSUER',
  tokenAudience: 'LEDGERLINE_TOKEN_AUDIENCE',
  cookieSecure: 'LEDGERLINE_COOKIE_SECURE',
  cookieCrossSite: 'LEDGERLINE_COOKIE_CROSS_SITE',
  sessionEventsPerSecond: 'LEDGERLINE_SESSION_EVENTS_PER_SECOND',
  sessionBytesPerSecond: 'LEDGERLINE_SESSION_BYTES_PER_SECOND',
  tokenWritesPerSecond: 'LEDGERLINE_TOKEN_WRITES_PER_SECOND',
  sessionStreams: 'LEDGERLINE_SESSION_STREAMS',
  tokenStreams: 'LEDGERLINE_TOKEN_STREAMS',
  logLevel: 'LEDGERLINE_LOG_LEVEL',
  drainMs: 'LEDGERLINE_DRAIN_MS',
  goawayWindowMs: 'LEDGERLINE_GOAWAY_WINDOW_MS',
  debounceMs: 'LEDGERLINE_DEBOUNCE_MS',
  leaseMs: 'LEDGERLINE_LEASE_MS',
} satisfies Record<keyof ServerSettings, string>;

const isSetting = (name: string): name is keyof ServerSettings => Object.hasOwn(variables, name);

/** Names that are no settings: a program that is not checked by a compiler would wonder why nothing came of them. */
export const unknownSettings = (settings: object): string[] => Object.keys(settings).filter((name) => !isSetting(name));

/** As the same settings stand in an environment, so that one reader judges both. */
export function environmentOf(settings: ServerSettings): Record<string, string> {
  const given = Object.entries(settings).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(given.map(([name, value]) => [isSetting(name) ? variables[name] : name, String(value)]));
}

/** What is said of variables, said of settings. */
export function inSettings(message: string): string {
  const names = new Map(Object.entries(variables).map(([name, variable]) => [variable, name]));
  return message.replaceAll(/\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b/g, (variable) => names.get(variable) ?? variable);
}
