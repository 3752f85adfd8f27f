/** The write path's front: appends go onto lanes by session, a flush of each lane carries all that waits there. */
import type { Clock } from '../base/clock.ts';
import { LedgerlineError, toError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import { detach, withDeadline } from '../base/service.ts';
import { createAirspace } from './airspace.ts';
import { assertSeparable } from './append-text.ts';
import { createFlight } from './flight.ts';
import type { Flight } from './flight.ts';
import type { Lost } from './flush.ts';
import { createLane } from './lane.ts';
import type { Lane, LaneBounds, Pending } from './lane.ts';
import type { AppendRequest, Outcome } from './ledger.ts';
import type { Inquiry } from './unknown-commit.ts';

export interface CommitGroupBounds extends LaneBounds {
  readonly lanes: number;
  readonly soloConnections: number;
  readonly laneQueueAppends: number;
  readonly laneQueueBytes: number;
}

export interface CommitGroup {
  append(request: AppendRequest): Promise<Outcome>;
  /** Refuses what is new, finishes what was taken. */
  stop(): Promise<void>;
}

export interface CommitGroupOptions {
  readonly url: string;
  readonly prepare?: boolean;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly inquiry: Inquiry;
  readonly bounds?: CommitGroupBounds;
}

export function createCommitGroup(options: CommitGroupOptions): CommitGroup {
  const { log, metrics, clock, inquiry } = options;
  const bounds = options.bounds ?? limits;
  const works = new Set<Promise<void>>();
  let isStopping = false;

  const flightFor = (name: string): Flight =>
    createFlight({
      url: options.url,
      name: `ledgerline ${name}`,
      log,
      ...(options.prepare === undefined ? {} : { prepare: options.prepare }),
    });

  function own(work: Promise<void>): void {
    works.add(work);
    detach(
      work.finally(() => works.delete(work)),
      log,
      'a lane ended unexpectedly',
    );
  }

  const solo = Array.from({ length: bounds.soloConnections }, (_, index) => flightFor(`solo ${index}`));
  const alone = sharedAmong([...solo]);

  function onLost(lost: Lost, appends: readonly Pending[]): void {
    log.warn({ err: lost.error, appends: appends.length }, 'a connection was lost around a commit');
    own(
      (async () => {
        const answers = await inquiry.settle(
          appends.map((append) => append.request),
          lost,
        );
        for (const [index, append] of appends.entries()) {
          const answer = answers[index];
          if (answer instanceof LedgerlineError) append.fail(answer);
          else if (answer === undefined || answer.kind === 'skipped') append.fail(notTried(lost.error));
          else append.answer(answer);
        }
      })(),
    );
  }

  const flights = Array.from({ length: bounds.lanes }, (_, index) => flightFor(`lane ${index}`));
  const airspace = createAirspace(clock);
  const lanes = flights.map((flight) =>
    createLane({
      flight,
      airspace,
      alone,
      onLost,
      own,
      bounds,
      clock,
      observe: (appends) => metrics.groupAppends.observe(appends),
    }),
  );

  function laneOf(session: string): Lane {
    const lane = lanes[hash(session) % lanes.length];
    if (lane === undefined) throw new LedgerlineError('internal', 'there is no lane');
    return lane;
  }

  function enqueue(request: AppendRequest, answer: Pending['answer'], fail: Pending['fail']): void {
    assertSeparable(request);
    if (isStopping) throw new LedgerlineError('draining', 'this server is going away; nothing was stored');
    const lane = laneOf(request.session);
    const bytes = request.events.reduce((sum, event) => sum + event.bytes, 0);
    if (lane.appends >= bounds.laneQueueAppends || lane.bytes + bytes > bounds.laneQueueBytes) {
      throw new LedgerlineError('unavailable', 'too many appends are waiting; nothing was stored');
    }
    lane.add({ request, bytes, answer, fail });
  }

  return {
    append: (request) => new Promise((resolve, reject) => enqueue(request, resolve, reject)),
    async stop() {
      isStopping = true;
      try {
        await withDeadline(settled(works), bounds.headLockWaitMs + bounds.flushDeadlineMs, 'the last flush');
      } catch (error) {
        log.error({ err: toError(error) }, 'appends were given up at shutdown');
        const gone = new LedgerlineError('unavailable', 'this server went away; nothing was stored');
        for (const lane of lanes) lane.abandon(gone);
      }
      await Promise.all([...flights, ...solo].map((flight) => flight.close(0)));
      await settled(works); // what was cut in flight is still asked for, within its own deadline
    },
  };
}

const notTried = (cause: Error): LedgerlineError =>
  new LedgerlineError('unavailable', 'the connection to Postgres was lost; nothing was stored', {}, cause);

/** Until nothing runs; work may begin other work. */
async function settled(works: ReadonlySet<Promise<void>>): Promise<void> {
  while (works.size > 0) await Promise.allSettled(works);
}

/** Gives each work one of the flights for itself, in order of asking. */
function sharedAmong(free: Flight[]): LaneAlone {
  const queue: ((flight: Flight) => void)[] = [];
  return async (work) => {
    const flight = free.pop() ?? (await new Promise<Flight>((resolve) => queue.push(resolve)));
    try {
      await work(flight);
    } finally {
      const next = queue.shift();
      if (next === undefined) free.push(flight);
      else next(flight);
    }
  };
}

type LaneAlone = (work: (flight: Flight) => Promise<void>) => Promise<void>;

/** FNV-1a: any spread of sessions over lanes will do, as long as a session keeps its lane. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  }
  return value >>> 0;
}
