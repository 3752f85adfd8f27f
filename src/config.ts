/** The only reader of the environment: turns it into settings, or says which variable is wrong and what to do about it. */
import { LedgerlineError, toError } from './base/errors.ts';
import { limits } from './base/limits.ts';
import { logLevels } from './base/log.ts';
import type { LogLevel } from './base/log.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** What the process was started with. */
export const environment: Environment = process.env;

export interface ServerConfig {
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
  readonly tokenSecret: string;
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

/** Where the command line finds a server; what is absent is looked for in the folder's development server. */
export interface ClientConfig {
  readonly url: string | undefined;
  readonly internalUrl: string | undefined;
  readonly token: string | undefined;
  readonly key: string | undefined;
  readonly tokenSecret: string | undefined;
}

/** HS256 asks for a key of at least its hash's size [spec: RFC 7518, 3.2]. */
const SECRET_LENGTH = 32;

const makeOne = `at least ${SECRET_LENGTH} characters; make one with: openssl rand -base64 32`;
const databaseExample = 'the Postgres to use, such as postgres://user:password@host:5432/database';

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
    tokenSecret: settings.required('LEDGERLINE_TOKEN_SECRET', secret, `signs the readers' tokens: ${makeOne}`),
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

/** The database alone, for a command that needs nothing else. */
export function readDatabaseConfig(env: Environment): Pick<ServerConfig, 'databaseUrl' | 'databasePrepare'> {
  const settings = readSettings(env);
  const config = database(settings);
  settings.refuse();
  return config;
}

const database = ({ required, optional }: ReturnType<typeof readSettings>) => ({
  databaseUrl: required('DATABASE_URL', databaseUrl, databaseExample),
  databasePrepare: optional('LEDGERLINE_DATABASE_PREPARE', yesOrNo, true),
});

const anyProcess = (settings: ReturnType<typeof readSettings>): WorkerConfig => ({
  ...database(settings),
  natsUrl: settings.optional('NATS_URL', natsUrl, undefined),
  natsSubjectRoot: settings.optional('LEDGERLINE_NATS_SUBJECT_ROOT', subject, 'ledgerline'),
  leaseMs: settings.optional('LEDGERLINE_LEASE_MS', milliseconds, limits.leaseMs),
  logLevel: settings.optional('LEDGERLINE_LOG_LEVEL', logLevel, 'info'),
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
  };
  settings.refuse();
  return config;
}

type Parse<T> = (text: string) => T;

/** Reads variables one by one and keeps what is wrong with them. A message never repeats a value: it may be a secret. */
export function readSettings(env: Environment) {
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

  function refuse(): void {
    if (faults.length > 0) throw new LedgerlineError('configuration', faults.join('\n'));
  }

  return { optional, required, refuse };
}

function hasProtocol(text: string, protocols: readonly string[]): boolean {
  return URL.canParse(text) && protocols.includes(new URL(text).protocol);
}

function databaseUrl(text: string): string {
  if (!hasProtocol(text, ['postgres:', 'postgresql:']))
    throw new Error(`is not a Postgres address: ${databaseExample}`);
  return text;
}

function natsUrl(text: string): string {
  const servers = text.split(',').map((server) => server.trim());
  if (!servers.every((server) => hasProtocol(server, ['nats:', 'tls:']))) {
    throw new Error('is not a NATS address, such as nats://host:4222 (several are separated by commas)');
  }
  return servers.join(',');
}

function subject(text: string): string {
  if (!/^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*$/.test(text))
    throw new Error('is not a subject: words of A-Z a-z 0-9 _ -, joined by dots');
  return text;
}

function host(text: string): string {
  if (/[\s/]/.test(text)) throw new Error('is not a host to listen on, such as 127.0.0.1 or 0.0.0.0');
  return text;
}

function wholeNumber(text: string, highest: number): number | undefined {
  const value = Number(text);
  return /^[0-9]{1,9}$/.test(text) && value <= highest ? value : undefined;
}

function port(text: string): number {
  const value = wholeNumber(text, 65_535);
  if (value === undefined) throw new Error('is not a port: 0 to 65535, where 0 picks a free one');
  return value;
}

function milliseconds(text: string): number {
  const value = wholeNumber(text, 3_600_000);
  if (value === undefined) throw new Error('is not a number of milliseconds of at most an hour');
  return value;
}

function yesOrNo(text: string): boolean {
  if (['true', '1', 'yes', 'on'].includes(text.toLowerCase())) return true;
  if (['false', '0', 'no', 'off'].includes(text.toLowerCase())) return false;
  throw new Error('is neither true nor false');
}

function secret(text: string): string {
  if (text.length < SECRET_LENGTH) throw new Error(`is too short: ${makeOne}`);
  return text;
}

const secretHeader = (text: string): string => credential(secret(text));

/** It travels in a header, so it must be one visible word. */
export function credential(text: string): string {
  if (!/^[\x21-\x7e]+$/.test(text)) throw new Error('has spaces or other characters that no header can carry');
  return text;
}

/** Browsers send exact origins, so only exact ones are compared. */
function origins(text: string): readonly string[] {
  const list = text
    .split(',')
    .map((origin) => origin.trim())
    .filter((origin) => origin !== '');
  for (const origin of list) {
    if (!hasProtocol(origin, ['http:', 'https:']) || new URL(origin).origin !== origin) {
      throw new Error(
        'holds something that is not an origin, such as https://app.example.com (no path, no final slash)',
      );
    }
  }
  return list;
}

function logLevel(text: string): LogLevel {
  const level = logLevels.find((known) => known === text);
  if (level === undefined) throw new Error(`is not one of ${logLevels.join(', ')}`);
  return level;
}

/** The address of a server, without its final slash so that paths can follow. */
export function address(text: string): string {
  if (!hasProtocol(text, ['http:', 'https:'])) throw new Error('is not an address, such as http://127.0.0.1:8080');
  return text.replace(/\/+$/, '');
}
