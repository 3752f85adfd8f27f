/** A bus whose every broadcast meets the fate that the test gives it; it delivers at once, so a test sees each step. */
import type { Broadcast, Bus, Listener, SuspectReason, Wake } from '../../src/bus/bus.ts';

/** `hold` keeps it until `release`, so that a later one overtakes it. */
export type Fate = 'deliver' | 'drop' | 'twice' | 'hold' | 'throw';

export interface LossyBus extends Bus {
  readonly published: readonly { readonly session: string; readonly broadcast: Broadcast }[];
  readonly subscriptions: number;
  /** For every broadcast from now on; `index` counts all that were published. */
  meet(fate: (broadcast: Broadcast, index: number) => Fate): void;
  /** Delivers what is held, in the given order of holding (as it came, if left out). */
  release(order?: (held: readonly Broadcast[]) => readonly Broadcast[]): void;
  /** While away nothing is delivered and no subscription becomes ready. */
  goAway(): void;
  comeBack(): void;
  suspect(reason: SuspectReason): void;
}

export function lossyBus(): LossyBus {
  const published: { session: string; broadcast: Broadcast }[] = [];
  const listeners = new Set<{ session: string; listener: Listener; confirm: () => void }>();
  const suspicious = new Set<(reason: SuspectReason) => void>();
  const wakeful = new Set<(wake: Wake) => void>();
  let held: { session: string; broadcast: Broadcast }[] = [];
  let fate: (broadcast: Broadcast, index: number) => Fate = () => 'deliver';
  let isAway = false;

  function deliver(session: string, broadcast: Broadcast): void {
    if (isAway) return;
    for (const entry of listeners) if (entry.session === session) entry.listener(broadcast);
  }
  function suspect(reason: SuspectReason): void {
    for (const listener of suspicious) listener(reason);
  }

  return {
    name: 'bus',
    published,
    get subscriptions() {
      return listeners.size;
    },
    get isAway() {
      return isAway;
    },
    start: () => Promise.resolve(),
    stop: () => Promise.resolve(listeners.clear()),
    publish(session, broadcast) {
      published.push({ session, broadcast });
      const what = fate(broadcast, published.length - 1);
      if (what === 'throw') throw new Error('the bus breaks its promise');
      if (what === 'hold') held.push({ session, broadcast });
      if (what === 'deliver' || what === 'twice') deliver(session, broadcast);
      if (what === 'twice') deliver(session, broadcast);
    },
    subscribe(session, listener) {
      let confirm: () => void = () => undefined;
      const ready = new Promise<void>((resolve) => (confirm = resolve));
      const entry = { session, listener, confirm };
      listeners.add(entry);
      if (!isAway) confirm();
      return {
        ready,
        unsubscribe() {
          listeners.delete(entry);
          confirm();
        },
      };
    },
    wake(wake) {
      if (!isAway) for (const listener of wakeful) listener(wake);
    },
    onWake(listener) {
      wakeful.add(listener);
      return { unsubscribe: () => wakeful.delete(listener) };
    },
    onSuspect(listener) {
      suspicious.add(listener);
      return { unsubscribe: () => suspicious.delete(listener) };
    },
    meet: (next) => void (fate = next),
    release(order = (broadcasts) => broadcasts) {
      const due = held;
      held = [];
      for (const broadcast of order(due.map((entry) => entry.broadcast))) {
        const entry = due.find((candidate) => candidate.broadcast === broadcast);
        if (entry !== undefined) deliver(entry.session, broadcast);
      }
    },
    goAway() {
      isAway = true;
      suspect('away');
    },
    comeBack() {
      isAway = false;
      for (const entry of listeners) entry.confirm();
      suspect('reconnected');
    },
    suspect,
  };
}
