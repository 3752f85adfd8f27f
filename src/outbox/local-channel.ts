/** Deliveries within one process, for development: the contract of every channel, and nothing outlives the process. */
import { assert } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import { deliveryLimits } from '../base/delivery-limits.ts';
import type { Log } from '../base/log.ts';
import type { Delivery, DeliveryChannel, Received } from './delivery.ts';
import { createLanes } from './lanes.ts';

/** What a consumer has not acknowledged; it stays when nobody consumes. */
interface Position {
  /** How far in the log it was given. */
  next: number;
  /** Of what was given and is not acknowledged: how often, by place in the log. */
  readonly given: Map<number, number>;
  /** Those of them that are to be given again now. */
  readonly due: number[];
  wake: (() => void) | undefined;
}

/** The first place that it still needs. What was given stands in the order of its places. */
const neededFrom = ({ given, next }: Position): number => given.keys().next().value ?? next;

export function localChannel({
  clock,
  log,
  most = deliveryLimits.localDeliveries,
}: {
  readonly clock: Clock;
  readonly log: Log;
  /** In the place of the limit, for a test. */
  readonly most?: number;
}): DeliveryChannel {
  /** By place in the log; those before `first` are forgotten. */
  const stream = new Map<number, Delivery>();
  /** Of each session, up to where its deliveries were stored and forgotten. */
  const forgotten = new Map<string, number>();
  let first = 0;
  let end = 0;
  const positions = new Map<string, Position>();
  let isStopped = false;

  function positionOf(consumer: string): Position {
    const known = positions.get(consumer);
    if (known !== undefined) return known;
    const position: Position = { next: first, given: new Map(), due: [], wake: undefined };
    positions.set(consumer, position);
    return position;
  }

  function giveAgain(position: Position, place: number): void {
    if (position.given.has(place) && !position.due.includes(place)) position.due.push(place);
    position.wake?.();
  }

  function receive(position: Position, place: number): Received {
    const delivery = stream.get(place);
    assert(delivery !== undefined, 'what is given was stored');
    const timesDelivered = (position.given.get(place) ?? 0) + 1;
    position.given.set(place, timesDelivered);
    return {
      delivery,
      streamSequence: place + 1,
      timesDelivered,
      pending: end - position.next,
      acknowledge: () => void position.given.delete(place),
      later: (delayMs) => void clock.after(delayMs, () => giveAgain(position, place)),
    };
  }

  /** False: it is full of what somebody needs. Without a consumer nobody needs anything. */
  function makeRoom(): boolean {
    if (stream.size < most) return true;
    const oldest = stream.get(first);
    assert(oldest !== undefined, 'what is full has an oldest');
    if ([...positions.values()].some((position) => neededFrom(position) <= first)) return false;
    forgotten.set(oldest.session, Math.max(oldest.outboxSequence, forgotten.get(oldest.session) ?? 0));
    stream.delete(first);
    first += 1;
    return true;
  }

  return {
    isLasting: false,
    start() {
      log.info('deliveries stay within this process: there is no broker, and what is under way ends with it');
      return Promise.resolve();
    },
    publish(delivery) {
      if (isStopped) return Promise.resolve({ kind: 'away', reason: 'the channel has stopped' });
      if (!makeRoom()) return Promise.resolve({ kind: 'away', reason: 'the channel is full' });
      stream.set(end, delivery);
      end += 1;
      for (const { wake } of positions.values()) wake?.();
      return Promise.resolve({ kind: 'stored', streamSequence: end });
    },
    async consume(consumer, handle, signal) {
      const position = positionOf(consumer);
      assert(position.wake === undefined, 'a local consumer runs once');
      // What an earlier run left unanswered.
      for (const place of position.given.keys()) giveAgain(position, place);
      const lanes = createLanes({
        atOnce: deliveryLimits.consumerSessions,
        queued: deliveryLimits.consumerQueued,
        log,
      });
      signal.addEventListener('abort', () => position.wake?.(), { once: true });
      while (!signal.aborted) {
        const woken = new Promise<void>((resolve) => (position.wake = resolve));
        const place = position.due.shift() ?? (position.next < end ? position.next++ : undefined);
        if (place === undefined) {
          await woken;
          continue;
        }
        const received = receive(position, place);
        await lanes.add(received.delivery.session, () => handle(received));
      }
      await lanes.idle();
      position.wake = undefined;
    },
    next(session, streamSequence) {
      for (let place = Math.max(first, streamSequence); place < end; place += 1) {
        const delivery = stream.get(place);
        if (delivery?.session === session) return Promise.resolve({ delivery, streamSequence: place + 1 });
      }
      return Promise.resolve(undefined);
    },
    stored(session, after) {
      const numbers = new Set<number>();
      for (const delivery of stream.values()) if (delivery.session === session) numbers.add(delivery.outboxSequence);
      // They were stored in order; what everybody has acknowledged is not lost.
      for (let number = forgotten.get(session) ?? 0; number > 0; number -= 1) numbers.add(number);
      return Promise.resolve(new Set([...numbers].filter((number) => number > after)));
    },
    stop() {
      isStopped = true;
      return Promise.resolve();
    },
  };
}
