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
import { appendOperation } from './append-operation.ts';
import { appendRoute } from './append-route.ts';
import { createBodyReader } from './body.ts';
import type { ReadJsonBody } from './body.ts';
import { claimOperation, claimRoute } from './claim-route.ts';
import type { App, AppEnvironment } from './context.ts';
import { cors } from './cors.ts';
import { decisionOperation, decisionRoute } from './decision-route.ts';
import { deliveriesOperation, deliveriesRoute } from './deliveries-route.ts';
import { mount } from './dispatch.ts';
import { createDoor, createGate, createReach, createStandsIn } from './door.ts';
import type { Door, Gate, RequireReach, SessionHandler } from './door.ts';
import { historyOperation, historyRoute } from './history-route.ts';
import { mountLab } from './lab-routes.ts';
import type { MountedLab } from './lab-routes.ts';
import { limitedAppends, pacedAppends } from './limited-appends.ts';
import { messageOperation, messageRoute } from './message-route.ts';
import { ndjsonRoute } from './ndjson-route.ts';
import { observe } from './observe.ts';
import type { Before, Observer } from './observe.ts';
import { mountDescription } from './openapi/description-route.ts';
import { guarded } from './openapi/operation.ts';
import type { PageFiles } from './page-files.ts';
import { mountPage, mountWelcome } from './page-route.ts';
import { producerOperation, producerRoute } from './producer-route.ts';
import { readOperation, readRoute } from './read-route.ts';
import { revocationOperation, revocationRoute } from './revocation-route.ts';
import { sessionListOperation, sessionListRoute } from './session-list-route.ts';
import {
  closeOperation,
  closeRoute,
  createOperation,
  createRoute,
  deleteOperation,
  deleteRoute,
  describeOperation,
  describeRoute,
} from './session-routes.ts';
import { mountSettling } from './settle-routes.ts';
import { mountMetrics, mountStatus } from './status-routes.ts';
import { resolveOperation } from './step-operations.ts';
import { mountSteps, resolveRoute } from './step-routes.ts';
import { stopOperation, stopRoute } from './stop-route.ts';
import { streamOperation } from './stream-operation.ts';
import { outlastingFaults, streamRoute } from './stream-route.ts';
import { ticketOperation, ticketRoute } from './ticket-route.ts';
import type { Turnstile } from './turnstile.ts';
import {
  acknowledgeOperation,
  acknowledgeRoute,
  rerunOperation,
  rerunRoute,
  retryOperation,
  retryRoute,
  turnListOperation,
  turnListRoute,
} from './turn-routes.ts';

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
  /** The one at which the listeners' readers stand. */
  readonly turnstile: Turnstile;
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
  const isDraining = () => draining.aborted;
  const common: Common = { ...dependencies, limiter, revocations, tickets, isDraining };
  const stream = streamRoute(common);

  const publicApp = createApp(common, cors(allowedOrigins));
  const shared = mountShared(publicApp, common, stream, publicEntrance);
  mountPage(publicApp, dependencies.page);
  mountDescription(publicApp, 'public', clock);
  if (lab !== undefined) mountLab(publicApp, { mounted: lab, sessions, ...shared });

  const internalApp = createApp(common);
  const { door, gate, readJsonBody } = mountShared(internalApp, common, stream, internalEntrance);
  const readLines = ndjsonRoute({ sessions: pacedAppends(sessions, limiter, clock), draining, log, metrics, clock });
  mount(internalApp, '/internal/sessions/:session/events', {
    POST: guarded(
      appendOperation,
      door,
      appendRoute({ sessions: limitedAppends(sessions, limiter), readJsonBody, readLines }),
    ),
  });
  mount(internalApp, '/internal/sessions/:session/producers/:producer', {
    GET: guarded(producerOperation, door, producerRoute(sessions)),
  });
  mount(internalApp, '/internal/turns/claim', {
    POST: guarded(claimOperation, gate, claimRoute({ turns, draining, readJsonBody, log })),
  });
  mount(internalApp, '/internal/revocations', {
    POST: guarded(revocationOperation, gate, revocationRoute({ revocations, clock, readJsonBody })),
  });
  mountSettling(internalApp, { turns, door, gate, readJsonBody });
  mountSteps(internalApp, { steps, door, readJsonBody });
  mountMetrics(internalApp, metrics);
  mountWelcome(internalApp);
  mountDescription(internalApp, 'internal', clock);

  return { publicApp, internalApp };
}

type Common = AppDependencies & Observer & Pick<Access, 'tickets'> & Pick<AccessOptions, 'limiter' | 'revocations'>;

function createApp(observer: Observer, before?: Before): App {
  const app: App = new Hono<AppEnvironment>();
  observe(app, observer, before);
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
    GET: guarded(sessionListOperation, gate, sessionListRoute(sessions, standsIn)),
    POST: guarded(createOperation, gate, createRoute(sessions, readJsonBody, standsIn)),
  });
  mount(app, '/sessions/:session', {
    GET: guarded(describeOperation, door, describeRoute({ sessions, rooms })),
    DELETE: guarded(deleteOperation, door, deleteRoute(sessions)),
  });
  mount(app, '/sessions/:session/stream', {
    GET: {
      operation: streamOperation,
      handle: outlastingFaults(common, streamDoor(streamOperation.scope, stream)),
    },
  });
  mount(app, '/sessions/:session/tickets', {
    POST: guarded(ticketOperation, door, ticketRoute(tickets, readJsonBody)),
  });
  mount(app, '/sessions/:session/events', { GET: guarded(historyOperation, door, historyRoute(sessions)) });
  mount(app, '/sessions/:session/close', { POST: guarded(closeOperation, door, closeRoute(sessions)) });
  mount(app, '/sessions/:session/messages', {
    POST: guarded(messageOperation, door, messageRoute(turns, readJsonBody)),
  });
  mount(app, '/sessions/:session/decisions', {
    POST: guarded(decisionOperation, door, decisionRoute(turns, readJsonBody)),
  });
  mount(app, '/sessions/:session/stop', { POST: guarded(stopOperation, door, stopRoute(turns, readJsonBody)) });
  mount(app, '/sessions/:session/read', { POST: guarded(readOperation, door, readRoute(sessions, readJsonBody)) });
  mount(app, '/sessions/:session/deliveries', { GET: guarded(deliveriesOperation, door, deliveriesRoute(steps)) });
  mount(app, '/sessions/:session/turns/:turn/retry', { POST: guarded(retryOperation, door, retryRoute(turns)) });
  mount(app, '/sessions/:session/turns/:turn/rerun', {
    POST: guarded(rerunOperation, door, rerunRoute(turns, readJsonBody)),
  });
  mount(app, '/sessions/:session/turns/:turn/acknowledge', {
    POST: guarded(acknowledgeOperation, door, acknowledgeRoute(turns)),
  });
  mount(app, '/sessions/:session/turns/:turn/steps/:index/resolve', {
    POST: guarded(resolveOperation, door, resolveRoute(steps, readJsonBody)),
  });
  mount(app, '/turns', { GET: guarded(turnListOperation, gate, turnListRoute(turns, standsIn)) });
  return { door, gate, requireReach, readJsonBody };
}
