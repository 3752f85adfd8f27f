/** GET /sessions/:session/stream: reads the head, decides the status, and hands the socket to the session's room. */
import { IncomingMessage } from 'node:http';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Limiter } from '../access/limiter.ts';
import type { Revocations } from '../access/revocations.ts';
import type { Clock } from '../base/clock.ts';
import { LedgerlineError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import { withDeadline } from '../base/service.ts';
import type { Head } from '../ledger/ledger.ts';
import type { Rooms } from '../room/rooms.ts';
import { endFrame, helloFrame, retryFrame } from '../sse/frame.ts';
import { isGone, openStream, streamHeaders } from '../sse/writer.ts';
import type { AppContext, Handler } from './context.ts';
import { sessionDeleted, sessionUnknown } from './door.ts';
import type { SessionHandler, Visit } from './door.ts';
import { createEndedReaders } from './ended-readers.ts';
import { logFault } from './observe.ts';
import { problem, told } from './problem.ts';
import { readStreamRequest } from './stream-request.ts';
import type { StreamRequest } from './stream-request.ts';
import type { Turnstile } from './turnstile.ts';

export interface StreamOptions {
  readonly rooms: Pick<Rooms, 'readHead' | 'join'>;
  readonly isDraining: () => boolean;
  readonly revocations: Pick<Revocations, 'watch'>;
  readonly limiter: Pick<Limiter, 'open'>;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly turnstile: Turnstile;
}

export function streamRoute(options: StreamOptions): SessionHandler {
  const ended = createEndedReaders(limits.endedReaders);
  const readHead = headReader(options);
  return async (c, visit) => {
    // Hono brings HEAD here too; a stream opened for it would never end.
    if (c.req.method === 'HEAD') return c.body(null, 200, streamHeaders);
    const request = streamRequestOf(c);
    const head = await readHead(visit.session);
    await options.turnstile(visit.session); // a read's answer wakes a whole herd at once
    if (head === undefined) throw sessionUnknown();
    if (head.state === 'deleted' && request.isStrict) throw sessionDeleted();
    if (hasNothingMore(head, request)) {
      // A 204 ends a browser's EventSource [spec: HTML, 9.2.3]; many libraries ignore it and would hammer on [swift-eventsource#50].
      const reader = `${visit.session} ${head.head} ${visit.credential.subject}`;
      const isTold = request.isReconnect && !ended.cameBack(reader);
      if (isTold) return c.body(null, 204);
      if (request.isReconnect || head.state === 'deleted')
        return c.body(farewell(visit.session, head), 200, streamHeaders);
    }
    return openRoom(options, c, visit, request, head);
  };
}

/**
 * The head, or why it cannot be had now: with a deadline, since a silent database must not leave a reader without an answer. A herd
 * shares a read, and its deadline with those who came a moment before: a read that waits behind a silent one outlasts many deadlines.
 */
function headReader({ rooms, isDraining, clock }: StreamOptions): (session: string) => Promise<Head | undefined> {
  const inTime = new WeakMap<Promise<Head | undefined>, { head: Promise<Head | undefined>; sharedUntilMs: number }>();
  return async (session) => {
    if (isDraining()) throw new LedgerlineError('draining', 'this server is draining');
    const read = rooms.readHead(session);
    const nowMs = clock.now();
    const known = inTime.get(read);
    if (known !== undefined && nowMs < known.sharedUntilMs) return known.head;
    const head = withDeadline(read, limits.streamHeadDeadlineMs, 'the ledger');
    inTime.set(read, { head, sharedUntilMs: nowMs + limits.headReadSpacingCapMs });
    return head;
  };
}

/**
 * Any status but 200 ends a browser's EventSource for ever [Yaffle#88], so a fault or a limit that will pass, at the door or
 * behind it, is a stream that says when to come back and ends. Whoever asked for real status codes gets them.
 */
export function outlastingFaults(
  { log, metrics, clock }: Pick<StreamOptions, 'log' | 'metrics' | 'clock'>,
  handler: Handler,
): Handler {
  return async (c) => {
    const { isStrict } = streamRequestOf(c);
    if (isStrict) c.header('Preference-Applied', 'handling=strict');
    try {
      return await handler(c);
    } catch (thrown) {
      const error = told(thrown);
      if (isStrict || (problem(error).status < 500 && error.code !== 'rate_limited')) throw error;
      metrics.browserFaults.inc({ code: error.code });
      logFault(log, error, c);
      const { requestId, session } = c.get('notes');
      log.warn({ code: error.code, requestId, session }, 'a fault was answered 200');
      return c.body(retryFrame(comeBackMs(error) * (1 + clock.random())), 200, streamHeaders);
    }
  };
}

const comeBackMs = ({ fields }: LedgerlineError): number =>
  typeof fields['retryAfter'] === 'number' ? fields['retryAfter'] * 1_000 : limits.faultRetryMs;

const streamRequestOf = (c: AppContext): StreamRequest =>
  readStreamRequest(
    (name) => c.req.header(name),
    (name) => c.req.queries(name) ?? [],
  );

function hasNothingMore(head: Head, { requested }: StreamRequest): boolean {
  if (head.state === 'deleted') return true;
  return head.state === 'closed' && requested.kind === 'after' && requested.cursor === head.head;
}

/** The whole stream of a session that is over, to a reader that has all of it. */
function farewell(session: string, { head, floor, state }: Head): string {
  const reason = state === 'deleted' ? 'deleted' : 'closed';
  return retryFrame(limits.endedRetryMs) + helloFrame(session, head, floor, head) + endFrame(head, head, reason);
}

/** Of its own: a UUID comes as a rope of fourteen pieces, and a session's id as a part of the address, ticket and all. */
const ownText = (ascii: string): string => Buffer.from(ascii, 'latin1').toString('latin1');

const nothing = { headers: Object.freeze({}), rawHeaders: Object.freeze([]), url: '' };

/**
 * A stream lasts for hours, and what its request brought would last as long: cookies, a token, a ticket. At its end wait the adapter with its
 * own Request, to abort a signal that nobody looks at, and the shutdown, for connections that are kept, which a stream's is not [I6].
 */
function letGoOfRequest({ incoming, outgoing }: AppContext['env']): void {
  outgoing.removeAllListeners('close');
  // Over HTTP/2 they cannot be set.
  if (incoming instanceof IncomingMessage) Object.assign(incoming, nothing);
}

function openRoom(options: StreamOptions, c: AppContext, visit: Visit, request: StreamRequest, head: Head): Response {
  const { outgoing } = c.env;
  // Gone while the head was read: its close was emitted already, and nobody would ever take the subscriber away.
  if (isGone(outgoing)) return RESPONSE_ALREADY_SENT;
  const { credential } = visit;
  const session = ownText(visit.session);
  const notes = c.get('notes');
  const requestId = ownText(notes.requestId);
  const { traceId } = notes;
  const { requested } = request;
  const startedMs = options.clock.now();
  notes.facts = { after: requested.kind === 'after' ? requested.cursor : requested.kind, head: head.head };
  const { identity, expiresAtMs } = credential;
  const leave = options.limiter.open(session, identity?.jti);
  letGoOfRequest(c.env);
  // One system call for the head of the answer and all that is at hand.
  outgoing.cork();
  // Hono drops what was set on the way when the response is ours.
  const writer = openStream(outgoing, { ...notes.headers.byName, ...Object.fromEntries(c.res.headers) });
  writer.onClose(leave);
  try {
    options.rooms.join({
      session,
      requested,
      head,
      writer,
      onLeft: (left) => {
        const ms = Math.round(options.clock.now() - startedMs);
        options.log.info({ requestId, session, ...left, ms, traceId }, 'stream closed');
      },
      expiresAtMs,
      onRevoked: identity && ((revoked) => options.revocations.watch(identity, session, revoked)),
    });
  } catch (thrown) {
    // The status is out; all that is left is to end, which a reader answers by coming back.
    logFault(options.log, told(thrown), c);
    outgoing.uncork();
    writer.destroy();
    return RESPONSE_ALREADY_SENT;
  }
  outgoing.uncork();
  return RESPONSE_ALREADY_SENT;
}
