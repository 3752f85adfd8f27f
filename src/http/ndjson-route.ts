/** POST /internal/sessions/:session/events as lines of JSON: one request for as long as a producer lives, one batch in flight. */
import type { ServerResponse } from 'node:http';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Clock } from '../base/clock.ts';
import { LedgerlineError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import type { NewEvent } from '../event/event.ts';
import { traced } from '../event/trace.ts';
import type { Traceparent } from '../event/trace.ts';
import type { Sessions } from '../session/sessions.ts';
import { appendRefusal, sessionClosed } from './append-outcome.ts';
import { outlastRequest } from './bad-request.ts';
import type { AppContext } from './context.ts';
import { sessionDeleted, sessionUnknown } from './door.ts';
import type { SessionHandler } from './door.ts';
import { openNdjsonAnswer } from './ndjson-answer.ts';
import type { NdjsonAnswer } from './ndjson-answer.ts';
import { watchLines } from './line-watch.ts';
import type { LineWatch } from './line-watch.ts';
import { createIntake } from './ndjson-intake.ts';
import type { Ending, Intake } from './ndjson-intake.ts';
import { logFault } from './observe.ts';
import { problem, told } from './problem.ts';
import { toProducerId } from './producer-route.ts';
import { single } from './query.ts';

export interface NdjsonOptions {
  readonly sessions: Pick<Sessions, 'append' | 'producer'>;
  /** Aborts when this server begins to go away. */
  readonly draining: AbortSignal;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
}

export function ndjsonRoute(options: NdjsonOptions): SessionHandler {
  const held = { bytes: 0 };
  return async (c, { session }) => {
    const { draining, clock, metrics, log } = options;
    const producer = toProducerId(single(c, 'producer') ?? '');
    const counter = readCounter(c);
    if (draining.aborted) throw new LedgerlineError('draining', 'this server is draining; nothing was stored');
    await requirePlace(options, session, producer, counter);
    const outgoing = c.env.outgoing as ServerResponse;
    const release = outlastRequest(outgoing.req.socket);
    const notes = c.get('notes');
    const answer = openNdjsonAnswer(outgoing, notes.headers.byName, clock);
    notes.status = 200;
    const intake = createIntake({ incoming: outgoing.req, draining, clock, held });
    const watch = watchLines(c, session, metrics, log);
    const place = { session, producer, counter, traceparent: notes.traceparent };
    const ending = await storeAll(options, place, intake, answer, watch).catch((thrown: unknown): Ending => ({
      kind: 'refused',
      error: told(thrown),
    }));
    intake.stop();
    watch.ended(ending.kind === 'refused' ? ending.error : ending.kind);
    if (ending.kind === 'refused') logFault(log, ending.error, c);
    answer.end(lastLine(ending, notes.requestId));
    release();
    return RESPONSE_ALREADY_SENT;
  };
}

/** As far as it can be told by a status; from then on it is told by the last line. */
async function requirePlace(
  { sessions }: NdjsonOptions,
  session: string,
  producer: string,
  counter: number,
): Promise<void> {
  const row = await sessions.producer(session, producer);
  if (row === undefined) throw sessionUnknown();
  if (row.state === 'deleted') throw sessionDeleted();
  if (counter <= row.counter) {
    throw new LedgerlineError('producer_overlap', 'events are stored under this counter already', {
      counter: row.counter,
    });
  }
  if (row.state === 'closed') throw sessionClosed();
}

interface Place {
  readonly session: string;
  readonly producer: string;
  readonly counter: number;
  readonly traceparent: Traceparent | undefined;
}

/** One batch in flight; what comes meanwhile is the next. */
async function storeAll(
  { sessions }: NdjsonOptions,
  { session, producer, counter: from, traceparent }: Place,
  intake: Intake,
  answer: NdjsonAnswer,
  watch: LineWatch,
): Promise<Ending> {
  let counter = from;
  for (;;) {
    const next = await intake.next();
    if (isEnding(next)) return next;
    const events = traced(next, traceparent);
    if (!Number.isSafeInteger(counter + events.length)) throw counterSpent();
    const outcome = await sessions.append({ session, events, producer: { id: producer, sequence: counter } });
    if (outcome.kind !== 'appended') throw appendRefusal(outcome);
    counter += events.length;
    watch.stored(events, outcome);
    const { first, last } = outcome;
    answer.write(JSON.stringify({ first, last, counter: counter - 1 }));
    await answer.taken();
  }
}

const isEnding = (next: readonly NewEvent[] | Ending): next is Ending => 'kind' in next;

function lastLine(ending: Ending, requestId: string): string {
  if (ending.kind === 'refused') return problem(ending.error, requestId).body;
  return JSON.stringify({ end: ending.kind });
}

function readCounter(c: AppContext): number {
  const text = single(c, 'sequence') ?? '';
  const counter = /^[1-9][0-9]{0,15}$/.test(text) ? Number(text) : 0;
  if (counter >= 1 && Number.isSafeInteger(counter)) return counter;
  throw new LedgerlineError('malformed', 'sequence is the counter of the first event: a number from 1 to 2^53−1', {
    where: 'sequence',
  });
}

const counterSpent = (): LedgerlineError =>
  new LedgerlineError('malformed', 'the counter of the last event would pass 2^53−1', { where: 'sequence' });
