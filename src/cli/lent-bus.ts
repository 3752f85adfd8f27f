/** A bus that several parts of one process share: whoever made it starts and stops it, and for them it simply is there. */
import type { Bus } from '../bus/bus.ts';

export function lentBus(bus: Bus): Bus {
  return {
    name: bus.name,
    start: () => Promise.resolve(),
    stop: () => Promise.resolve(),
    publish: (session, broadcast) => bus.publish(session, broadcast),
    subscribe: (session, listener) => bus.subscribe(session, listener),
    wake: (wake) => bus.wake(wake),
    onWake: (listener) => bus.onWake(listener),
    onSuspect: (listener) => bus.onSuspect(listener),
    get isAway() {
      return bus.isAway;
    },
  };
}
