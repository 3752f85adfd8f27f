/** Any bus with faults on request: what its owner says is lost is not published, and while it is stopped it counts as away. */
import type { Broadcast, Bus, Subscription, SuspectReason } from '../bus/bus.ts';

export interface BusFaults {
  readonly isStopped: boolean;
  /** Asked once for each broadcast; whoever says yes has taken note of the loss. Must not throw. */
  loses(session: string, broadcast: Broadcast): boolean;
  /** Called when it stops, and when it goes on. */
  onSuspect(listener: (reason: SuspectReason) => void): Subscription;
}

export function faultyBus(bus: Bus, faults: BusFaults): Bus {
  return {
    name: bus.name,
    start: () => bus.start(),
    stop: () => bus.stop(),
    publish(session, broadcast) {
      if (!faults.loses(session, broadcast)) bus.publish(session, broadcast);
    },
    subscribe: (session, listener) => bus.subscribe(session, listener),
    wake(wake) {
      if (!faults.isStopped) bus.wake(wake);
    },
    onWake: (listener) => bus.onWake(listener),
    onSuspect(listener) {
      const subscriptions = [bus.onSuspect(listener), faults.onSuspect(listener)];
      return { unsubscribe: () => subscriptions.forEach((subscription) => subscription.unsubscribe()) };
    },
    get isAway() {
      return faults.isStopped || bus.isAway;
    },
  };
}
