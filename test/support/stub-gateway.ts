/** Both HTTP listeners over scripted sessions and rooms: for answers that no real ledger gives on demand. */
import { PassThrough } from 'node:stream';
import { pino } from 'pino';
import { systemClock } from '../../src/base/clock.ts';
import type { Clock } from '../../src/base/clock.ts';
import type { Log } from '../../src/base/log.ts';
import { silentLog } from '../../src/base/log.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import type { Metrics } from '../../src/base/metrics.ts';
import { toCursor } from '../../src/event/sequence.ts';
import { createApps } from '../../src/http/app.ts';
import type { AppDependencies, Apps } from '../../src/http/app.ts';
import { createListener } from '../../src/http/listener.ts';
import type { PageFiles } from '../../src/http/page-files.ts';
import { createTurnstile } from '../../src/http/turnstile.ts';
import type { CrashLab } from '../../src/lab/crash-lab.ts';
import type { Lab } from '../../src/lab/lab.ts';
import type { TurnNow } from '../../src/event/turn-state.ts';
import type { AppendRequest, Head, SessionRow } from '../../src/ledger/ledger.ts';
import type { JoinRequest } from '../../src/room/rooms.ts';
import type { Sessions } from '../../src/session/sessions.ts';
import type { Steps } from '../../src/turn/steps.ts';
import type { Turns } from '../../src/turn/turns.ts';
import { stubAccess } from './access.ts';
import type { StubAccess } from './access.ts';
import { mintTestToken } from './token.ts';
import type { TokenOptions } from './token.ts';

const SECRET = 'a secret of the tests, long enough for HS256';
export const KEY = 'a-key-of-the-tests-that-is-long-enough';

export const openHead: Head = { head: toCursor(3), floor: toCursor(0), state: 'open' };

const idle: TurnNow = { state: 'idle', turn: undefined, attempt: undefined, stop: undefined };

export function row(session: string, head: Head = openHead, owner?: string): SessionRow {
  return { session, ...head, metadata: {}, owner, createdAt: '2026-11-30T04:00:00.000Z', turn: idle };
}

export interface StubOptions {
  readonly sessions?: Partial<Sessions>;
  readonly readHead?: (session: string) => Promise<Head | undefined>;
  readonly join?: (request: JoinRequest) => void;
  readonly ready?: () => Promise<void>;
  readonly draining?: AbortSignal;
  readonly turns?: Partial<Turns>;
  readonly steps?: Partial<Steps>;
  readonly allowedOrigins?: readonly string[];
  /** Who may, where it is not the usual. */
  readonly access?: Partial<StubAccess>;
  readonly clock?: Clock;
  readonly log?: Log;
  readonly isHttp2?: boolean;
  readonly drainMs?: number;
  readonly page?: PageFiles;
  readonly lab?: Lab;
  readonly crashLab?: CrashLab;
  /** Puts something in front of the apps. */
  readonly around?: (apps: Apps) => Apps;
}

export interface StubGateway {
  readonly publicUrl: string;
  readonly internalUrl: string;
  /** Everything that reached the ledger. */
  readonly appends: AppendRequest[];
  readonly joins: JoinRequest[];
  readonly metrics: Metrics;
  token(options?: TokenOptions): Promise<string>;
  stopPublic(): Promise<void>;
  stop(): Promise<void>;
}

const missing = (): Promise<never> => Promise.reject(new Error('not scripted'));

const unscriptedTurns: Turns = {
  request: missing,
  claim: missing,
  renew: missing,
  steer: missing,
  finish: missing,
  fail: missing,
  wait: missing,
  release: missing,
  decide: missing,
  stop: missing,
  list: missing,
  retry: missing,
  rerun: missing,
  acknowledge: missing,
  figures: missing,
};

const unscriptedSteps: Steps = {
  journal: missing,
  model: missing,
  start: missing,
  settle: missing,
  transactional: missing,
  deliveries: missing,
  doubts: missing,
  resolve: missing,
};

export async function startStubGateway(options: StubOptions = {}): Promise<StubGateway> {
  const appends: AppendRequest[] = [];
  const joins: JoinRequest[] = [];
  const metrics = createMetrics();
  const log = options.log ?? silentLog;
  const clock = options.clock ?? systemClock;
  const turnstile = createTurnstile(clock, log);
  const sessions: Sessions = {
    append: missing,
    create: missing,
    describe: (session) => Promise.resolve(row(session)),
    close: missing,
    delete: missing,
    history: missing,
    list: missing,
    markRead: missing,
    producer: missing,
    ...options.sessions,
  };
  const append = (request: AppendRequest): ReturnType<Sessions['append']> => {
    appends.push(request);
    return sessions.append(request);
  };
  const dependencies: AppDependencies = {
    sessions: { ...sessions, append },
    turns: { ...unscriptedTurns, ...options.turns },
    steps: { ...unscriptedSteps, ...options.steps },
    rooms: {
      readHead: options.readHead ?? (() => Promise.resolve(openHead)),
      join(request) {
        joins.push(request);
        options.join?.(request);
      },
      describe: () => undefined,
    },
    ready: options.ready ?? (() => Promise.resolve()),
    draining: options.draining ?? new AbortController().signal,
    access: stubAccess({
      secret: SECRET,
      internalKey: KEY,
      allowedOrigins: options.allowedOrigins ?? [],
      metrics,
      clock,
      ...options.access,
    }),
    log,
    metrics,
    clock,
    turnstile,
    page: options.page,
    lab: options.lab && { lab: options.lab, crashLab: options.crashLab, heard: append, unheard: append },
  };
  const around = options.around ?? ((apps: Apps) => apps);
  const { publicApp, internalApp } = around(createApps(dependencies));
  const shared = { host: '127.0.0.1', port: 0, log, turnstile, drainMs: options.drainMs ?? 1_000 };
  const publicListener = createListener({
    name: 'public',
    app: publicApp,
    isHttp2: options.isHttp2 ?? false,
    ...shared,
  });
  const internalListener = createListener({ name: 'internal', app: internalApp, isHttp2: false, ...shared });
  await publicListener.start();
  await internalListener.start();
  return {
    publicUrl: publicListener.url,
    internalUrl: internalListener.url,
    appends,
    joins,
    metrics,
    token: (token) => mintTestToken(SECRET, token),
    stopPublic: () => publicListener.stop(),
    async stop() {
      for (const { writer } of joins) writer.destroy();
      await Promise.all([publicListener.stop(), internalListener.stop()]);
    },
  };
}

/** A log whose lines a test can read. */
export function recordingLog(): { log: Log; lines: () => string } {
  const stream = new PassThrough();
  const chunks: string[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(chunk.toString()));
  return { log: pino({ level: 'debug', base: null }, stream), lines: () => chunks.join('') };
}
