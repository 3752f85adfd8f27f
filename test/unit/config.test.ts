/** The environment becomes settings, or one error that names every variable that is wrong. */
import { describe, expect, it } from 'vitest';
import { LedgerlineError } from '../../src/base/errors.ts';
import { limits } from '../../src/base/limits.ts';
import {
  readClientConfig,
  readDatabaseConfig,
  readRelayConfig,
  readServerConfig,
  readWorkerConfig,
} from '../../src/config.ts';

const required = {
  DATABASE_URL: 'postgres://user:secret-password@db.example:5432/app',
  LEDGERLINE_TOKEN_SECRET: 't'.repeat(32),
  LEDGERLINE_INTERNAL_KEY: 'k'.repeat(32),
};

function refusal(read: () => unknown): LedgerlineError {
  try {
    read();
  } catch (error) {
    if (error instanceof LedgerlineError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

const refusalOf = (env: Record<string, string>) => refusal(() => readServerConfig({ ...required, ...env }));

describe('the settings of a server', () => {
  it('need the database and both secrets, and have a default for everything else', () => {
    expect(readServerConfig(required)).toEqual({
      databaseUrl: required.DATABASE_URL,
      databasePrepare: true,
      natsUrl: undefined,
      natsSubjectRoot: 'ledgerline',
      publicHost: '0.0.0.0',
      publicPort: 8080,
      internalHost: '127.0.0.1',
      internalPort: 8081,
      isHttp2: false,
      tokenSecret: required.LEDGERLINE_TOKEN_SECRET,
      previousTokenSecret: undefined,
      jwksUrl: undefined,
      tokenIssuer: undefined,
      tokenAudience: undefined,
      cookies: { isSecure: true, isCrossSite: false },
      rates: {
        sessionEvents: 50_000,
        sessionBytes: 100_000_000,
        tokenWrites: 1_000,
        sessionStreams: 50_000,
        tokenStreams: 20_000,
      },
      internalKey: required.LEDGERLINE_INTERNAL_KEY,
      allowedOrigins: [],
      logLevel: 'info',
      drainMs: limits.drainMs,
      goawayWindowMs: 5_000,
      debounceMs: 150,
      leaseMs: 30_000,
    });
  });

  it('are all read', () => {
    const config = readServerConfig({
      ...required,
      NATS_URL: 'nats://one:4222, tls://two:4222',
      LEDGERLINE_DATABASE_PREPARE: 'false',
      LEDGERLINE_NATS_SUBJECT_ROOT: 'tenant-1.ledgerline',
      LEDGERLINE_PUBLIC_HOST: '::',
      LEDGERLINE_PUBLIC_PORT: '0',
      LEDGERLINE_INTERNAL_HOST: '10.0.0.1',
      LEDGERLINE_INTERNAL_PORT: '65535',
      LEDGERLINE_HTTP2: 'on',
      LEDGERLINE_ALLOWED_ORIGINS: 'https://app.example.com, http://localhost:5173',
      LEDGERLINE_LOG_LEVEL: 'debug',
      LEDGERLINE_DRAIN_MS: '2000',
      LEDGERLINE_GOAWAY_WINDOW_MS: '300',
      LEDGERLINE_TOKEN_SECRET_PREVIOUS: 'p'.repeat(32),
      LEDGERLINE_JWKS_URL: 'https://issuer.example/jwks.json',
      LEDGERLINE_TOKEN_ISSUER: 'https://issuer.example/',
      LEDGERLINE_TOKEN_AUDIENCE: 'ledgerline',
      LEDGERLINE_COOKIE_CROSS_SITE: 'true',
      LEDGERLINE_SESSION_EVENTS_PER_SECOND: '1000',
      LEDGERLINE_SESSION_BYTES_PER_SECOND: '2000',
      LEDGERLINE_TOKEN_WRITES_PER_SECOND: '3',
      LEDGERLINE_SESSION_STREAMS: '4',
      LEDGERLINE_TOKEN_STREAMS: '5',
    });
    expect(config).toMatchObject({
      natsUrl: 'nats://one:4222,tls://two:4222',
      databasePrepare: false,
      natsSubjectRoot: 'tenant-1.ledgerline',
      publicHost: '::',
      publicPort: 0,
      internalHost: '10.0.0.1',
      internalPort: 65_535,
      isHttp2: true,
      allowedOrigins: ['https://app.example.com', 'http://localhost:5173'],
      logLevel: 'debug',
      drainMs: 2_000,
      goawayWindowMs: 300,
      previousTokenSecret: 'p'.repeat(32),
      jwksUrl: 'https://issuer.example/jwks.json',
      tokenIssuer: 'https://issuer.example/',
      tokenAudience: 'ledgerline',
      cookies: { isSecure: true, isCrossSite: true },
      rates: { sessionEvents: 1_000, sessionBytes: 2_000, tokenWrites: 3, sessionStreams: 4, tokenStreams: 5 },
    });
  });

  it('are refused without secrets, with the name of each and how to make one', () => {
    const { code, message } = refusal(() => readServerConfig({}));
    expect(code).toBe('configuration');
    const lines = message.split('\n');
    expect(lines).toHaveLength(3);
    expect(lines[0]).toMatch(/^DATABASE_URL is missing: .*postgres:\/\//);
    expect(lines[1]).toMatch(/^LEDGERLINE_TOKEN_SECRET is missing: .*openssl rand -base64 32/);
    expect(lines[2]).toMatch(/^LEDGERLINE_INTERNAL_KEY is missing: .*openssl rand -base64 32/);
  });

  it('need no secret where an issuer’s keys are published', () => {
    const { LEDGERLINE_TOKEN_SECRET: _, ...others } = required;
    const config = readServerConfig({ ...others, LEDGERLINE_JWKS_URL: 'https://issuer.example/jwks.json' });
    expect([config.tokenSecret, config.jwksUrl]).toEqual([undefined, 'https://issuer.example/jwks.json']);
  });

  it('refuse cookies for other sites that no browser would take', () => {
    const { message } = refusalOf({ LEDGERLINE_COOKIE_SECURE: 'false', LEDGERLINE_COOKIE_CROSS_SITE: 'true' });
    expect(message).toMatch(/^LEDGERLINE_COOKIE_CROSS_SITE needs LEDGERLINE_COOKIE_SECURE/);
  });

  it('take an empty variable for an absent one, as compose files pass it', () => {
    expect(readServerConfig({ ...required, NATS_URL: '', LEDGERLINE_PUBLIC_PORT: '' })).toMatchObject({
      natsUrl: undefined,
      publicPort: 8080,
    });
    expect(refusalOf({ LEDGERLINE_INTERNAL_KEY: '' }).message).toMatch(/^LEDGERLINE_INTERNAL_KEY is missing/);
  });

  it.each([
    ['DATABASE_URL', 'mysql://localhost/app'],
    ['DATABASE_URL', 'localhost:5432'],
    ['NATS_URL', 'http://localhost:4222'],
    ['NATS_URL', 'nats://one:4222,'],
    ['LEDGERLINE_NATS_SUBJECT_ROOT', 'a..b'],
    ['LEDGERLINE_NATS_SUBJECT_ROOT', 'ledgerline.>'],
    ['LEDGERLINE_PUBLIC_HOST', 'http://0.0.0.0'],
    ['LEDGERLINE_PUBLIC_PORT', '65536'],
    ['LEDGERLINE_PUBLIC_PORT', '-1'],
    ['LEDGERLINE_INTERNAL_PORT', '80a'],
    ['LEDGERLINE_INTERNAL_PORT', '8e3'],
    ['LEDGERLINE_HTTP2', 'maybe'],
    ['LEDGERLINE_TOKEN_SECRET', 'short'],
    ['LEDGERLINE_INTERNAL_KEY', 'k'.repeat(31)],
    ['LEDGERLINE_INTERNAL_KEY', `${'k'.repeat(32)} and more`],
    ['LEDGERLINE_TOKEN_SECRET_PREVIOUS', 'short'],
    ['LEDGERLINE_JWKS_URL', 'issuer.example'],
    ['LEDGERLINE_JWKS_URL', 'https://reader:hunter2@issuer.example/jwks.json'],
    ['LEDGERLINE_JWKS_URL', 'https://reader@issuer.example/jwks.json'],
    ['LEDGERLINE_TOKEN_ISSUER', ' padded '],
    ['LEDGERLINE_COOKIE_SECURE', 'maybe'],
    ['LEDGERLINE_SESSION_STREAMS', '0'],
    ['LEDGERLINE_TOKEN_WRITES_PER_SECOND', 'many'],
    ['LEDGERLINE_ALLOWED_ORIGINS', '*'],
    ['LEDGERLINE_ALLOWED_ORIGINS', 'https://app.example.com/'],
    ['LEDGERLINE_ALLOWED_ORIGINS', 'https://app.example.com/path'],
    ['LEDGERLINE_LOG_LEVEL', 'verbose'],
    ['LEDGERLINE_DRAIN_MS', '1.5'],
    ['LEDGERLINE_GOAWAY_WINDOW_MS', '3600001'],
  ])('refuse %s=%s by name', (name, text) => {
    const { code, message } = refusalOf({ [name]: text });
    expect(code).toBe('configuration');
    expect(message.split('\n')).toHaveLength(1);
    expect(message.startsWith(`${name} `)).toBe(true);
  });

  it('are never repeated in an error, for they may be secrets', () => {
    const { message } = refusalOf({
      DATABASE_URL: 'mysql://user:secret-password@db/app',
      LEDGERLINE_TOKEN_SECRET: 'secret-token',
      LEDGERLINE_INTERNAL_KEY: 'secret-key',
    });
    expect(message.split('\n')).toHaveLength(3);
    expect(message).not.toContain('secret-');
  });
});

describe('the settings of the command line', () => {
  it('are all optional', () => {
    expect(readClientConfig({})).toEqual({
      url: undefined,
      internalUrl: undefined,
      token: undefined,
      key: undefined,
      tokenSecret: undefined,
    });
  });

  it('lose the final slash of an address, so that paths can follow', () => {
    expect(readClientConfig({ LEDGERLINE_URL: 'https://stream.example.com/ledger/' }).url).toBe(
      'https://stream.example.com/ledger',
    );
  });

  it('refuse what is no address, and what no header can carry', () => {
    const { message } = refusal(() => readClientConfig({ LEDGERLINE_URL: 'localhost:8080', LEDGERLINE_TOKEN: 'a b' }));
    expect(message.split('\n').map((line) => line.split(' ')[0])).toEqual(['LEDGERLINE_URL', 'LEDGERLINE_TOKEN']);
  });
});

describe('the database alone', () => {
  it('is asked for by name', () => {
    const config = { databaseUrl: required.DATABASE_URL, databasePrepare: true };
    expect(readDatabaseConfig(required)).toEqual(config);
    expect(readDatabaseConfig({ ...required, LEDGERLINE_DATABASE_PREPARE: 'false' })).toEqual({
      ...config,
      databasePrepare: false,
    });
    expect(refusal(() => readDatabaseConfig({})).message).toMatch(/^DATABASE_URL is missing/);
  });
});

it('a worker needs the database alone, and has the rest in common with its servers', () => {
  const env = { DATABASE_URL: required.DATABASE_URL, NATS_URL: 'nats://one:4222', LEDGERLINE_DRAIN_MS: '2000' };
  const { databaseUrl, databasePrepare, natsUrl, natsSubjectRoot, leaseMs, logLevel, drainMs } = readServerConfig({
    ...required,
    ...env,
  });
  expect(readWorkerConfig(env)).toEqual({
    databaseUrl,
    databasePrepare,
    natsUrl,
    natsSubjectRoot,
    leaseMs,
    logLevel,
    drainMs,
  });
  expect(refusal(() => readWorkerConfig({ LEDGERLINE_DRAIN_MS: 'soon' })).message.split('\n')).toHaveLength(2);
});

describe('the settings of a relay', () => {
  const env = { DATABASE_URL: required.DATABASE_URL, NATS_URL: 'nats://one:4222' };

  it('need the database and the broker', () => {
    expect(readRelayConfig(env)).toEqual({
      databaseUrl: required.DATABASE_URL,
      databasePrepare: true,
      natsUrl: 'nats://one:4222',
      natsSubjectRoot: 'ledgerline',
      logLevel: 'info',
      streamReplicas: 1,
    });
    expect(readRelayConfig({ ...env, LEDGERLINE_STREAM_REPLICAS: '3' }).streamReplicas).toBe(3);
    expect(refusal(() => readRelayConfig({})).message.split('\n')).toHaveLength(2);
  });

  it.each(['0', '2', '7', 'three'])('refuse %j copies of the stream', (LEDGERLINE_STREAM_REPLICAS) => {
    const { message } = refusal(() => readRelayConfig({ ...env, LEDGERLINE_STREAM_REPLICAS }));
    expect(message).toBe('LEDGERLINE_STREAM_REPLICAS is not a number of copies: 1, 3 or 5');
  });
});
