/** The two apps of a gateway: the public one for readers, and the internal one, which also appends. */
import { Hono } from 'hono';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import { withDeadline } from '../base/service.ts';
import type { Rooms } from '../room/rooms.ts';
import type { Sessions } from '../session/sessions.ts';
import type { Steps } from '../turn/steps.ts';
import type { Turns } from '../turn/turns.ts';
import { createAccess } from './access.ts';
import type { Access, AccessOptions, Entrance } from './access.ts';
import { appendRoute } from './append-route.ts';
import { createBodyReader } from './body.ts';
import type { ReadJsonBody } from './body.ts';
import { claimRoute } from './claim-route.ts';
import type { App, AppEnvironment } from './context.ts';
import { cors } from './cors.ts';
import { decisionRoute } from './decision-route.ts';
import { deliveriesRoute } from './deliveries-route.ts';
import { mount } from './dispatch.ts';
import { createDoor, createGate, createReach, createStandsIn } from './door.ts';
import type { Door, Gate, RequireReach, SessionHandler } from './door.ts';
import { historyRoute } from './history-route.ts';
import { mountLab } from './lab-routes.ts';
import type { MountedLab } from './lab-routes.ts';
import { limitedAppends } from './limited-appends.ts';
import { messageRoute } from './message-route.ts';
import { observe } from './observe.ts';
import type { Observer } from './observe.ts';
import type { PageFiles } from './page-files.ts';
import { mountPage, mountWelcome } from './page-route.ts';
import { producerRoute } from './producer-route.ts';
import { readRoute } from './read-route.ts';
import { revocationRoute } from './revocation-route.ts';
import { sessionListRoute } from './session-list-route.ts';
import { closeRoute, createRoute, deleteRoute, describeRoute } from './session-routes.ts';
import { mountSettling } from './settle-routes.ts';
import { mountMetrics, mountStatus } from './status-routes.ts';
import { mountSteps, resolveRoute } from './step-routes.ts';
import { stopRoute } from './stop-route.ts';
import { outlastingFaults, streamRoute } from './stream-route.ts';
import { ticketRoute } from './ticket-route.ts';
import { acknowledgeRoute, rerunRoute, retryRoute, turnListRoute } from './turn-routes.ts';

export interface AppDependencies {
  readonly sessions: Sessions;
  readonly turns: Turns;
  readonly steps: Steps;
  readonly rooms: Pick<Rooms, 'readHead' | 'join' | 'describe'>;
  /** A round trip to the ledger; rejects when there is none. */
  readonly ready: () => Promise<void>;
  /** Aborts when this server begins to go away. */
  readonly draining: AbortSignal;
  /** Who may. */
  readonly access: AccessOptions;
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
  const { access, sessions, turns, steps, draining, log, metrics, clock, lab } = dependencies;
  const { allowedOrigins, limiter, revocations } = access;
  const { publicEntrance, internalEntrance, tickets } = createAccess(access, clock);
  const common: Common = { ...dependencies, limiter, revocations, tickets, isDraining: () => draining.aborted };
  const stream = streamRoute(common);

  const publicApp = createApp(common);
  publicApp.use('*', cors(allowedOrigins));
  const shared = mountShared(publicApp, common, stream, publicEntrance);
  mountPage(publicApp, dependencies.page);
  if (lab !== undefined) mountLab(publicApp, { mounted: lab, sessions, ...shared });

  const internalApp = createApp(common);
  const { door, gate, readJsonBody } = mountShared(internalApp, common, stream, internalEntrance);
  mount(internalApp, '/internal/sessions/:session/events', {
    POST: door(
      'write',
      appendRoute({ sessions: limitedAppends(sessions, limiter), draining, log, clock }, readJsonBody),
    ),
  });
  mount(internalApp, '/internal/sessions/:session/producers/:producer', {
    GET: door('read', producerRoute(sessions)),
  });
  mount(internalApp, '/internal/turns/claim', {
    POST: gate('write', claimRoute({ turns, draining, readJsonBody, log })),
  });
  mount(internalApp, '/internal/revocations', {
    POST: gate('write', revocationRoute({ revocations, clock, readJsonBody })),
  });
  mountSettling(internalApp, { turns, door, gate, readJsonBody });
  mountSteps(internalApp, { steps, door, readJsonBody });
  mountMetrics(internalApp, metrics);
  mountWelcome(internalApp);

  return { publicApp, internalApp };
}

type Common = AppDependencies & Observer & Pick<Access, 'tickets'> & Pick<AccessOptions, 'limiter' | 'revocations'>;

function createApp(observer: Observer): App {
  const app: App = new Hono<AppEnvironment>();
  observe(app, observer);
  return app;
}

interface Shared {
  readonly door: Door;
  readonly gate: Gate;
  readonly requireReach: RequireReach;
  readonly readJsonBody: ReadJsonBody;
}

/** What both listeners serve; they differ in whom they let in. */
function mountShared(app: App, common: Common, stream: SessionHandler, entrance: Entrance): Shared {
  const { sessions, turns, steps, rooms, tickets } = common;
  const standsIn = createStandsIn(common.revocations);
  const requireReach = createReach(async (session) => {
    const row = await withDeadline(sessions.describe(session), limits.streamHeadDeadlineMs, 'the ledger');
    return row?.owner;
  }, standsIn);
  const door = createDoor(entrance.authenticate, requireReach);
  const streamDoor = createDoor(entrance.authenticateStream, requireReach);
  const gate = createGate(entrance.authenticate);
  const readJsonBody = createBodyReader();
  mountStatus(app, common);
  mount(app, '/sessions', {
    GET: gate('read', sessionListRoute(sessions, standsIn)),
    POST: gate('create', createRoute(sessions, readJsonBody, standsIn)),
  });
  mount(app, '/sessions/:session', {
    GET: door('read', describeRoute({ sessions, rooms })),
    DELETE: door('write', deleteRoute(sessions)),
  });
  mount(app, '/sessions/:session/stream', { GET: outlastingFaults(common, streamDoor('read', stream)) });
  mount(app, '/sessions/:session/tickets', { POST: door('read', ticketRoute(tickets)) });
  mount(app, '/sessions/:session/events', { GET: door('read', historyRoute(sessions)) });
  mount(app, '/sessions/:session/close', { POST: door('write', closeRoute(sessions)) });
  mount(app, '/sessions/:session/messages', { POST: door('send', messageRoute(turns, readJsonBody)) });
  mount(app, '/sessions/:session/decisions', { POST: door('send', decisionRoute(turns, readJsonBody)) });
  mount(app, '/sessions/:session/stop', { POST: door('send', stopRoute(turns, readJsonBody)) });
  mount(app, '/sessions/:session/read', { POST: door('read', readRoute(sessions, readJsonBody)) });
  mount(app, '/sessions/:session/deliveries', { GET: door('read', deliveriesRoute(steps)) });
  mount(app, '/sessions/:session/turns/:turn/retry', { POST: door('write', retryRoute(turns)) });
  mount(app, '/sessions/:session/turns/:turn/rerun', { POST: door('write', rerunRoute(turns, readJsonBody)) });
  mount(app, '/sessions/:session/turns/:turn/acknowledge', { POST: door('write', acknowledgeRoute(turns)) });
  mount(app, '/sessions/:session/turns/:turn/steps/:index/resolve', {
    POST: door('write', resolveRoute(steps, readJsonBody)),
  });
  mount(app, '/turns', { GET: gate('read', turnListRoute(turns, standsIn)) });
  return { door, gate, requireReach, readJsonBody };
}
