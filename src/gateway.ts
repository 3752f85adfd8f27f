/** The composition root: which parts a gateway is made of, and the order in which it starts and lets go. */
import { createLimiter } from './access/limiter.ts';
import { postgresRevocations } from './access/postgres-revocations.ts';
import { createRevocations } from './access/revocations.ts';
import { systemClock } from './base/clock.ts';
import type { Clock } from './base/clock.ts';
import type { Log } from './base/log.ts';
import { createMetrics, watchProcess } from './base/metrics.ts';
import { startAll, stopAll, withDeadline } from './base/service.ts';
import type { Service } from './base/service.ts';
import type { Bus } from './bus/bus.ts';
import { localBus } from './bus/local-bus.ts';
import { natsBus } from './bus/nats-bus.ts';
import type { ServerConfig } from './config.ts';
import type { AccessOptions } from './http/access.ts';
import { createApps } from './http/app.ts';
import { createKeySet } from './http/key-set.ts';
import { createListener } from './http/listener.ts';
import { builtPage, readPageFiles } from './http/page-files.ts';
import { createTurnstile } from './http/turnstile.ts';
import type { CrashLab } from './lab/crash-lab.ts';
import type { Lab } from './lab/lab.ts';
import { createDatabaseClock } from './ledger/database-clock.ts';
import { createLedger } from './ledger/postgres-ledger.ts';
import { createRooms } from './room/rooms.ts';
import { append } from './session/append.ts';
import { createSessions } from './session/sessions.ts';
import { createTurns } from './turn/postgres-turns.ts';
import { sessionWork } from './turn/session-work.ts';

export interface Gateway extends Service {
  /** After the start. */
  readonly publicUrl: string;
  readonly internalUrl: string;
}

/** What a test may put in the place of a part, and what a development server adds. */
export interface GatewayOverrides {
  readonly clock?: Clock;
  readonly bus?: Bus;
  readonly lab?: Lab;
  /** In the lab, if there is one. */
  readonly crashLab?: CrashLab;
}

export function createGateway(config: ServerConfig, log: Log, overrides: GatewayOverrides = {}): Gateway {
  const { clock = systemClock, lab, crashLab } = overrides;
  const metrics = createMetrics();
  const database = { url: config.databaseUrl, prepare: config.databasePrepare, log, metrics, clock };
  const { leaseMs, debounceMs } = config;
  const ledger = createLedger({ ...database, bounds: { leaseMs }, work: sessionWork });
  const faultless =
    overrides.bus ??
    (config.natsUrl === undefined
      ? localBus({ log, metrics })
      : natsBus({ url: config.natsUrl, subjectRoot: config.natsSubjectRoot, log, metrics, clock }));
  const bus = lab?.spoil(faultless) ?? faultless;
  const databaseClock = createDatabaseClock({ ask: () => ledger.now(), clock, log, metrics });
  const wall = () => databaseClock.wall();
  const rooms = createRooms({ ledger, bus, clock, log, metrics, wall, observer: lab?.observer });
  const sessions = createSessions({ ledger, bus, metrics, log, clock });
  const turns = createTurns({ ...database, bus, bounds: { leaseMs, debounceMs } });

  const store = postgresRevocations({ url: config.databaseUrl, prepare: config.databasePrepare, log });
  const revocations = createRevocations({ store, clock, log, metrics });
  const keySet = config.jwksUrl === undefined ? undefined : createKeySet({ url: config.jwksUrl, clock, log });

  const draining = new AbortController();
  const turnstile = createTurnstile(clock, log);
  const { publicApp, internalApp } = createApps({
    sessions,
    turns,
    steps: turns.steps,
    rooms,
    ready: () => ledger.ready(),
    draining: draining.signal,
    access: {
      ...accessOf(config),
      revocations,
      limiter: createLimiter({ rates: config.rates, clock, metrics }),
      findKey: keySet?.findKey,
    },
    log,
    metrics,
    clock,
    turnstile,
    page: readPageFiles(builtPage, { hasLab: lab !== undefined }),
    lab: lab && {
      lab,
      crashLab,
      heard: (request) => sessions.append(request),
      unheard: (request) => append({ ledger, bus: lab.unheard, metrics, log, clock }, request),
    },
  });
  // The rest of the time is for what the requests stand on.
  const requestsMs = config.drainMs * 0.7;
  const publicListener = createListener({
    name: 'public listener',
    app: publicApp,
    host: config.publicHost,
    port: config.publicPort,
    isHttp2: config.isHttp2,
    log,
    turnstile,
    drainMs: requestsMs,
  });
  const internalListener = createListener({
    name: 'internal listener',
    app: internalApp,
    host: config.internalHost,
    port: config.internalPort,
    isHttp2: false,
    log,
    turnstile,
    drainMs: requestsMs,
  });

  const listeners: readonly Service[] = [internalListener, publicListener];
  // What was revoked is known before anybody is let in, and until nobody is left.
  const guards: readonly Service[] = keySet === undefined ? [revocations] : [revocations, keySet];

  /** Readers are told to go and appends in flight finish, and only then is what they stand on taken away. */
  async function stop(): Promise<void> {
    draining.abort();
    // A listener stops accepting at once, and has stopped when its last request is answered or its time is over.
    const stopped = Promise.all(listeners.map((listener) => listener.stop()));
    rooms.drain(config.goawayWindowMs);
    await stopAll([rooms], log);
    await stopped;
    await stopAll([ledger, bus, turns.service, ...guards, databaseClock], log);
  }

  let stopping: Promise<void> | undefined;
  return {
    name: 'gateway',
    async start() {
      watchProcess(metrics);
      await startAll([ledger, bus, turns.service, ...guards, databaseClock, rooms, ...listeners], log);
    },
    stop() {
      // A server that does not let go must not keep this one: whatever was answered is stored.
      stopping ??= withDeadline(stop(), config.drainMs, 'an orderly end').catch((error: unknown) =>
        log.error({ err: error }, 'the end was cut short; whatever was answered is stored'),
      );
      return stopping;
    },
    get publicUrl() {
      return publicListener.url;
    },
    get internalUrl() {
      return internalListener.url;
    },
  };
}

/** The secrets, the newest first. Without any, tickets are signed by what the key of the internal listener gives. */
function accessOf(config: ServerConfig): Omit<AccessOptions, 'revocations' | 'limiter' | 'findKey'> {
  const { tokenSecret, previousTokenSecret, internalKey, tokenIssuer, tokenAudience, cookies, allowedOrigins } = config;
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
  const given = [tokenSecret, previousTokenSecret].filter((secret) => secret !== undefined).map(bytes);
  return {
    secrets: given,
    ticketSecrets: given.length > 0 ? given : [bytes(internalKey)],
    issuer: tokenIssuer,
    audience: tokenAudience,
    cookies,
    internalKey,
    allowedOrigins,
  };
}
