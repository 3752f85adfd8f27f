/** What a consumer does with each delivery that it is given, and with those that waited behind it. */
import { backoffMs } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import { deliveryLimits } from '../base/delivery-limits.ts';
import type { InboxMetrics } from '../base/delivery-metrics.ts';
import { LedgerlineError, toError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Applied } from './apply.ts';
import type { Delivery, DeliveryChannel, Received, Stored } from './delivery.ts';

export interface HandlerOptions {
  readonly consumer: string;
  /** Each in one transaction. `isFirst`: a session without a mark begins with it. */
  readonly apply: (delivery: Delivery, isFirst: boolean) => Promise<Applied>;
  /** Passes one that cannot be applied, and keeps it for a person. */
  readonly bury: (delivery: Delivery, isFirst: boolean, message: string) => Promise<Applied>;
  readonly next: DeliveryChannel['next'];
  readonly maxFailures: number;
  readonly startsAnywhere: boolean;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics?: InboxMetrics | undefined;
}

type Outcome = Applied | 'dead' | 'failed';

/** The lowest number of a session that is known to wait behind a hole, and its place in the stream. */
interface Waiting {
  readonly number: number;
  readonly place: number;
}

const noneSeen: Waiting = { number: Infinity, place: Infinity };

const pause = { firstMs: deliveryLimits.consumerPauseMs, capMs: deliveryLimits.consumerPauseCapMs } as const;
const nearestPause = { ...pause, capMs: deliveryLimits.holePauseCapMs } as const;

/** Of each session it handles one at a time, as channels give them. */
export function createHandler(options: HandlerOptions): (received: Received) => Promise<void> {
  const { consumer, maxFailures, startsAnywhere, signal, clock, log, metrics } = options;
  /** The lowest number of a session that is not applied: when it fails, the one behind it does not begin in its place. */
  const firsts = new Map<string, number>();
  /** How often a delivery has failed here. By its number: the one before it may have failed here, too, and been applied by another process. */
  const failures = new Map<string, number>();
  /** Sessions in which the next one did not come by waiting: what is behind it is put off at once, so that the next one gets its turn. */
  const stuck = new Map<string, Waiting>();
  /** The last place in the stream of which anything was given to this process. */
  let newest = 0;

  function isFirst({ session, outboxSequence: number }: Delivery): boolean {
    if (!startsAnywhere) return false;
    const first = Math.min(firsts.get(session) ?? number, number);
    remember(firsts, session, first);
    return number === first;
  }

  /** With several processes, the one before it is often in another's hands, and done in a moment. */
  async function applyInOrder(delivery: Delivery): Promise<Applied> {
    for (let waits = 0; ; waits += 1) {
      const applied = await options.apply(delivery, isFirst(delivery));
      if (applied !== 'hole' || stuck.has(delivery.session) || waits === deliveryLimits.holeWaits) return applied;
      await waitInHand(deliveryLimits.holeWaitMs * 2 ** waits);
    }
  }

  function waitInHand(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const done = (): void => {
        timer.cancel();
        signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = clock.after(delayMs, done);
      signal.addEventListener('abort', done, { once: true });
    });
  }

  /** What to do about one that threw. Postgres being away is no failure of the delivery. */
  async function afterFailure(delivery: Delivery, thrown: unknown): Promise<Applied | number> {
    const { session, outboxSequence, topic } = delivery;
    const place = { session, outboxSequence, topic };
    if (thrown instanceof LedgerlineError && thrown.code === 'unavailable') {
      log.warn({ err: thrown, ...place }, 'a delivery waits for the database');
      return backoffMs(pause, 3, clock.random());
    }
    const count = (failures.get(nameOf(delivery)) ?? 0) + 1;
    remember(failures, nameOf(delivery), count);
    if (!stuck.has(session)) remember(stuck, session, noneSeen);
    if (count < maxFailures) {
      log.warn(
        { err: toError(thrown), failures: count, ...place },
        'a delivery could not be applied; it will be tried again',
      );
      return backoffMs(pause, count - 1, clock.random());
    }
    log.error(
      { err: toError(thrown), failures: count, ...place },
      'a delivery is dead: it is kept in inbox_dead, and its session goes on',
    );
    return options.bury(delivery, isFirst(delivery), toError(thrown).message);
  }

  function putOff(received: Received): void {
    const { delivery, streamSequence, timesDelivered } = received;
    const { session, outboxSequence } = delivery;
    const known = stuck.get(session) ?? noneSeen;
    const isNearest = outboxSequence <= known.number;
    remember(stuck, session, isNearest ? { number: outboxSequence, place: streamSequence } : known);
    if (timesDelivered === deliveryLimits.holeTold) {
      log.warn({ session, outboxSequence }, 'a session waits for a delivery before this one, which does not come');
    }
    received.later(backoffMs(isNearest ? nearestPause : pause, timesDelivered - 1, clock.random()));
  }

  function settle(received: Received, outcome: Applied | 'dead'): Outcome {
    const { delivery, streamSequence } = received;
    const { session, outboxSequence, identity } = delivery;
    metrics?.received.inc({ consumer, outcome });
    if (outcome === 'hole') {
      putOff(received);
      return outcome;
    }
    firsts.delete(session);
    failures.delete(nameOf(delivery));
    if (outcome === 'conflict') {
      log.error(
        { session, outboxSequence, identity, streamSequence },
        'two deliveries have one number: this one was not applied and is kept in inbox_dead, for a person to look at',
      );
    } else if ((stuck.get(session) ?? noneSeen).number <= outboxSequence) stuck.set(session, noneSeen); // it waits no more
    received.acknowledge();
    return outcome;
  }

  async function attempt(received: Received): Promise<Outcome> {
    const { delivery } = received;
    try {
      return settle(received, await applyInOrder(delivery));
    } catch (thrown) {
      metrics?.received.inc({ consumer, outcome: 'failed' });
      try {
        const consequence = await afterFailure(delivery, thrown);
        if (typeof consequence !== 'number') return settle(received, consequence === 'applied' ? 'dead' : consequence);
        received.later(consequence);
      } catch (again) {
        log.warn({ err: toError(again) }, 'a dead delivery could not be passed; it will be tried again');
        received.later(backoffMs(pause, received.timesDelivered, clock.random()));
      }
      return 'failed';
    }
  }

  /**
   * What waits behind the one that was applied is put off, here or in another process, and no channel calls it back. But it is in
   * the stream: it is read there and applied now, and is a duplicate when it comes. What nobody was given yet comes by itself.
   */
  async function follow(applied: Stored, waiting: Waiting): Promise<void> {
    const { session } = applied.delivery;
    const last = newest;
    // One that was lost and published again lies behind what waits for it.
    for (let place = Math.min(applied.streamSequence, waiting.place - 1); !signal.aborted;) {
      const stored = await options.next(session, place);
      if (stored === undefined || stored.streamSequence > last) return void stuck.delete(session);
      const outcome = await attempt({ ...stored, timesDelivered: 1, pending: 0, acknowledge: nothing, later: nothing });
      if (outcome === 'hole' || outcome === 'failed') return;
      place = stored.streamSequence;
    }
  }

  return async (received) => {
    if (signal.aborted) return received.later(deliveryLimits.consumerPauseMs);
    newest = Math.max(newest, received.streamSequence);
    metrics?.lag.set({ consumer }, received.pending);
    const outcome = await attempt(received);
    const { session } = received.delivery;
    const isNext = outcome === 'applied' || outcome === 'passed' || outcome === 'dead';
    // One that comes again was put off before, maybe by a process that is gone: then so was what is behind it.
    const waiting = stuck.get(session) ?? (received.timesDelivered > 1 ? noneSeen : undefined);
    if (!isNext || waiting === undefined) return;
    try {
      await follow(received, waiting);
    } catch (thrown) {
      log.warn({ err: toError(thrown), session }, 'what waited for a delivery cannot be read; it comes by itself');
    }
  };
}

const nameOf = ({ session, outboxSequence }: Delivery): string => `${session}/${outboxSequence}`;

/** Of what another process went on with, this one may never hear again. So many never wait at the same time: the oldest is over [I6]. */
function remember<Value>(known: Map<string, Value>, name: string, value: Value): void {
  known.delete(name);
  known.set(name, value);
  const [oldest] = known.keys();
  if (known.size > deliveryLimits.consumerUnacknowledged && oldest !== undefined) known.delete(oldest);
}

const nothing = (): void => undefined;
