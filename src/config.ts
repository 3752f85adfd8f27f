/** The only reader of the environment: turns it into settings, or says which variable is wrong and what to do about it. */
import { LedgerlineError, toError } from './base/errors.ts';
import { limits } from './base/limits.ts';
import type { LogLevel } from './base/log.ts';
import { cookieConfig, rateConfig, tokenClaims, tokenConfig } from './config-access.ts';
import type { CookieConfig, RateConfig, Settings, TokenConfig } from './config-access.ts';
import {
  address,
  credential,
  databaseExample,
  databaseUrl,
  host,
  logLevel,
  makeOne,
  milliseconds,
  natsUrl,
  origins,
  port,
  replicas,
  secret,
  secretHeader,
  subject,
  yesOrNo,
} from './config-values.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** What the process was started with. */
export const environment: Environment = process.env;

export interface ServerConfig extends TokenConfig {
  readonly databaseUrl: string;
  /** Off behind a pooler that cannot keep prepared statements. */
  readonly databasePrepare: boolean;
  readonly natsUrl: string | undefined;
  readonly natsSubjectRoot: string;
  readonly publicHost: string;
  readonly publicPort: number;
  readonly internalHost: string;
  readonly internalPort: number;
  readonly isHttp2: boolean;
  readonly cookies: CookieConfig;
  readonly rates: RateConfig;
  readonly internalKey: string;
  readonly allowedOrigins: readonly string[];
  readonly logLevel: LogLevel;
  readonly drainMs: number;
  /** Readers of a draining server come back spread over this window. */
  readonly goawayWindowMs: number;
  /** How long a turn waits for further messages. */
  readonly debounceMs: number;
  /** How long a turn is its worker's without a sign of life. */
  readonly leaseMs: number;
}

/** What a worker beside the database shares with its servers. */
export type WorkerConfig = Pick<
  ServerConfig,
  'databaseUrl' | 'databasePrepare' | 'natsUrl' | 'natsSubjectRoot' | 'leaseMs' | 'logLevel' | 'drainMs'
>;

/** What a relay needs: the outbox, and the broker that it publishes to. */
export type RelayConfig = Pick<ServerConfig, 'databaseUrl' | 'databasePrepare' | 'natsSubjectRoot' | 'logLevel'> & {
  readonly natsUrl: string;
  /** Copies of a stream that the relay makes. */
  readonly streamReplicas: number;
};

/** Where the command line finds a server; what is absent is looked for in the folder's development server. */
export interface ClientConfig {
  readonly url: string | undefined;
  readonly internalUrl: string | undefined;
  readonly token: string | undefined;
  readonly key: string | undefined;
  readonly tokenSecret: string | undefined;
  /** What a token that is minted here says of where it is from and for. */
  readonly tokenIssuer: string | undefined;
  readonly tokenAudience: string | undefined;
}

/** The settings of a server. Every fault is named at once, so that a start is mended in one go. */
export function readServerConfig(env: Environment): ServerConfig {
  const settings = readSettings(env);
  const config: ServerConfig = {
    ...anyProcess(settings),
    publicHost: settings.optional('LEDGERLINE_PUBLIC_HOST', host, '0.0.0.0'),
    publicPort: settings.optional('LEDGERLINE_PUBLIC_PORT', port, 8080),
    internalHost: settings.optional('LEDGERLINE_INTERNAL_HOST', host, '127.0.0.1'),
    internalPort: settings.optional('LEDGERLINE_INTERNAL_PORT', port, 8081),
    isHttp2: settings.optional('LEDGERLINE_HTTP2', yesOrNo, false),
    ...tokenConfig(settings),
    cookies: cookieConfig(settings),
    rates: rateConfig(settings),
    internalKey: settings.required('LEDGERLINE_INTERNAL_KEY', secretHeader, `opens the internal listener: ${makeOne}`),
    allowedOrigins: settings.optional('LEDGERLINE_ALLOWED_ORIGINS', origins, []),
    goawayWindowMs: settings.optional('LEDGERLINE_GOAWAY_WINDOW_MS', milliseconds, 5_000),
    debounceMs: settings.optional('LEDGERLINE_DEBOUNCE_MS', milliseconds, limits.debounceMs),
  };
  settings.refuse();
  return config;
}

/** The settings of a worker. */
export function readWorkerConfig(env: Environment): WorkerConfig {
  const settings = readSettings(env);
  const config = anyProcess(settings);
  settings.refuse();
  return config;
}

/** The settings of a relay. */
export function readRelayConfig(env: Environment): RelayConfig {
  const settings = readSettings(env);
  const config: RelayConfig = {
    ...database(settings),
    natsUrl: settings.required(
      'NATS_URL',
      natsUrl,
      'the broker to deliver to, such as nats://host:4222, with JetStream',
    ),
    ...subjects(settings),
    ...logging(settings),
    streamReplicas: settings.optional('LEDGERLINE_STREAM_REPLICAS', replicas, 1),
  };
  settings.refuse();
  return config;
}

/** The database alone, for a command that needs nothing else. */
export function readDatabaseConfig(env: Environment): Pick<ServerConfig, 'databaseUrl' | 'databasePrepare'> {
  const settings = readSettings(env);
  const config = database(settings);
  settings.refuse();
  return config;
}

const database = ({ required, optional }: Settings) => ({
  databaseUrl: required('DATABASE_URL', databaseUrl, databaseExample),
  databasePrepare: optional('LEDGERLINE_DATABASE_PREPARE', yesOrNo, true),
});

const subjects = ({ optional }: Settings) => ({
  natsSubjectRoot: optional('LEDGERLINE_NATS_SUBJECT_ROOT', subject, 'ledgerline'),
});

const logging = ({ optional }: Settings) => ({
  logLevel: optional('LEDGERLINE_LOG_LEVEL', logLevel, 'info' as const),
});

const anyProcess = (settings: Settings): WorkerConfig => ({
  ...database(settings),
  natsUrl: settings.optional('NATS_URL', natsUrl, undefined),
  ...subjects(settings),
  leaseMs: settings.optional('LEDGERLINE_LEASE_MS', milliseconds, limits.leaseMs),
  ...logging(settings),
  drainMs: settings.optional('LEDGERLINE_DRAIN_MS', milliseconds, limits.drainMs),
});

/** The settings of the command line. */
export function readClientConfig(env: Environment): ClientConfig {
  const settings = readSettings(env);
  const config: ClientConfig = {
    url: settings.optional('LEDGERLINE_URL', address, undefined),
    internalUrl: settings.optional('LEDGERLINE_INTERNAL_URL', address, undefined),
    token: settings.optional('LEDGERLINE_TOKEN', credential, undefined),
    key: settings.optional('LEDGERLINE_KEY', credential, undefined),
    tokenSecret: settings.optional('LEDGERLINE_TOKEN_SECRET', secret, undefined),
    ...tokenClaims(settings.optional),
  };
  settings.refuse();
  return config;
}

type Parse<T> = (text: string) => T;

/** Reads variables one by one and keeps what is wrong with them. A message never repeats a value: it may be a secret. */
export function readSettings(env: Environment): Settings {
  const faults: string[] = [];

  function optional<T, Default>(name: string, parse: Parse<T>, absent: Default): T | Default {
    const text = env[name];
    // Compose files pass an unset variable on as an empty one.
    if (text === undefined || text === '') return absent;
    try {
      return parse(text);
    } catch (error) {
      faults.push(`${name} ${toError(error).message}`);
      return absent;
    }
  }

  function required(name: string, parse: Parse<string>, purpose: string): string {
    const text = env[name];
    if (text === undefined || text === '') faults.push(`${name} is missing: ${purpose}`);
    return optional(name, parse, '');
  }

  const fault = (text: string): void => void faults.push(text);

  function refuse(): void {
    if (faults.length > 0) throw new LedgerlineError('configuration', faults.join('\n'));
  }

  return { optional, required, fault, refuse };
}
