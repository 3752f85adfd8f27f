/** The two apps of a gateway: the public one for readers, and the internal one, which also appends. */
import { Hono } from 'hono';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import { withDeadline } from '../base/service.ts';
import type { Rooms } from '../room/rooms.ts';
import type { Sessions } from '../session/sessions.ts';
import { appendRoute } from './append-route.ts';
import { keyAuthentication, tokenAuthentication } from './auth.ts';
import type { Authenticate } from './auth.ts';
import { createBodyReader } from './body.ts';
import type { ReadJsonBody } from './body.ts';
import type { App, AppEnvironment } from './context.ts';
import { cors } from './cors.ts';
import { mount } from './dispatch.ts';
import { createDoor, createReach } from './door.ts';
import type { Door, RequireReach, SessionHandler } from './door.ts';
import { historyRoute } from './history-route.ts';
import { mountLab } from './lab-routes.ts';
import type { MountedLab } from './lab-routes.ts';
import { observe } from './observe.ts';
import type { Observer } from './observe.ts';
import type { PageFiles } from './page-files.ts';
import { mountPage, mountWelcome } from './page-route.ts';
import { closeRoute, createRoute, deleteRoute, describeRoute } from './session-routes.ts';
import { mountMetrics, mountStatus } from './status-routes.ts';
import { outlastingFaults, streamRoute } from './stream-route.ts';

export interface AppDependencies {
  readonly sessions: Sessions;
  readonly rooms: Pick<Rooms, 'readHead' | 'join' | 'describe'>;
  /** A round trip to the ledger; rejects when there is none. */
  readonly ready: () => Promise<void>;
  readonly isDraining: () => boolean;
  /** Signs the readers' tokens. */
  readonly secret: Uint8Array;
  readonly internalKey: string;
  readonly allowedOrigins: readonly string[];
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
  /** Left out when the page is not built. */
  readonly page?: PageFiles | undefined;
  /** Of a development server. */
  readonly lab?: MountedLab | undefined;
}

export interface Apps {
  readonly publicApp: App;
  readonly internalApp: App;
}

export function createApps(dependencies: AppDependencies): Apps {
  const { sessions, secret, internalKey, allowedOrigins, metrics, clock, lab } = dependencies;
  const stream = streamRoute(dependencies);

  const publicApp = createApp(dependencies);
  publicApp.use('*', cors(allowedOrigins));
  const authenticate = tokenAuthentication(secret, clock);
  const shared = mountShared(publicApp, dependencies, stream, authenticate);
  mountPage(publicApp, dependencies.page);
  if (lab !== undefined) mountLab(publicApp, { mounted: lab, sessions, authenticate, ...shared });

  const internalApp = createApp(dependencies);
  const { door, readJsonBody } = mountShared(internalApp, dependencies, stream, keyAuthentication(internalKey));
  mount(internalApp, '/internal/sessions/:session/events', {
    POST: door('write', appendRoute(sessions, readJsonBody)),
  });
  mountMetrics(internalApp, metrics);
  mountWelcome(internalApp);

  return { publicApp, internalApp };
}

function createApp(observer: Observer): App {
  const app: App = new Hono<AppEnvironment>();
  observe(app, observer);
  return app;
}

/** What both listeners serve; they differ in whom they let in. */
function mountShared(
  app: App,
  dependencies: AppDependencies,
  stream: SessionHandler,
  authenticate: Authenticate,
): { door: Door; requireReach: RequireReach; readJsonBody: ReadJsonBody } {
  const { sessions, rooms } = dependencies;
  const requireReach = createReach(async (session) => {
    const row = await withDeadline(sessions.describe(session), limits.streamHeadDeadlineMs, 'the ledger');
    return row?.owner;
  });
  const door = createDoor(authenticate, requireReach);
  const readJsonBody = createBodyReader();
  mountStatus(app, dependencies);
  mount(app, '/sessions', { POST: createRoute({ sessions, authenticate, readJsonBody }) });
  mount(app, '/sessions/:session', {
    GET: door('read', describeRoute(sessions, rooms)),
    DELETE: door('write', deleteRoute(sessions)),
  });
  mount(app, '/sessions/:session/stream', { GET: outlastingFaults(dependencies, door('read', stream)) });
  mount(app, '/sessions/:session/events', { GET: door('read', historyRoute(sessions)) });
  mount(app, '/sessions/:session/close', { POST: door('write', closeRoute(sessions)) });
  return { door, requireReach, readJsonBody };
}
