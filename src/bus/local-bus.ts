/** The bus of a single process: delivers in order, after the publisher's turn, and loses nothing. */
import { systemClock } from '../base/clock.ts';
import { toError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import type { Bus, Listener, Wake } from './bus.ts';

export function localBus(options: { log: Log; metrics: Metrics }): Bus {
  const { log, metrics } = options;
  const listeners = new Map<string, Set<Listener>>();
  const wakeful = new Set<(wake: Wake) => void>();
  // Emptied each time the loop comes round, so it holds no more than one turn published.
  let waiting: (() => void)[] = [];
  let isStopped = false;

  function deliver(): void {
    const due = waiting;
    waiting = [];
    for (const hand of due) hand();
  }

  function tell<Said>(told: Iterable<(said: Said) => void>, said: Said): void {
    for (const listener of told) {
      try {
        listener(said);
      } catch (thrown) {
        log.error({ err: toError(thrown) }, 'a listener of the bus failed');
      }
    }
  }

  /** Later than this turn, as with a server: a publisher never runs its listeners inside itself. */
  function soon(hand: () => void): void {
    if (waiting.length === 0) systemClock.soon(deliver);
    waiting.push(hand);
  }

  return {
    name: 'bus',
    isAway: false,
    start: () => Promise.resolve(),
    stop() {
      isStopped = true;
      waiting = [];
      listeners.clear();
      wakeful.clear();
      return Promise.resolve();
    },
    publish(session, broadcast) {
      if (isStopped) return;
      soon(() => tell(listeners.get(session) ?? [], broadcast));
      metrics.broadcasts.count(broadcast.kind === 'head' ? 'head' : broadcast.frames ? 'frames' : 'range');
    },
    subscribe(session, listener) {
      // A listener of its own, so that the same function may listen twice and leave once.
      const own: Listener = (broadcast) => listener(broadcast);
      const others = listeners.get(session) ?? new Set();
      listeners.set(session, others.add(own));
      return {
        ready: Promise.resolve(),
        unsubscribe() {
          others.delete(own);
          if (others.size === 0 && listeners.get(session) === others) listeners.delete(session);
        },
      };
    },
    wake(wake) {
      if (!isStopped) soon(() => tell(wakeful, wake));
    },
    onWake(listener) {
      const own = (wake: Wake) => listener(wake);
      wakeful.add(own);
      return { unsubscribe: () => wakeful.delete(own) };
    },
    // Nothing is ever lost here, so there is nothing to suspect.
    onSuspect: () => ({ unsubscribe: () => undefined }),
  };
}
