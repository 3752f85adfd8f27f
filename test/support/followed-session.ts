/** A follower over a scripted session, by a clock of the test's own, and all that it told. */
import type { Callbacks, Follower, FollowerStatus } from '../../web-client/src/follower.ts';
import { followSession } from '../../web-client/src/follow-session.ts';
import type { FollowOptions } from '../../web-client/src/follow-session.ts';
import type { Fault, Reset } from '../../web-client/src/recipient.ts';
import type { SessionEvent } from '../../web-client/src/session-event.ts';
import type { Surroundings, Wake } from '../../web-client/src/surroundings.ts';
import { manualClock } from './manual-clock.ts';
import type { ManualClock } from './manual-clock.ts';
import { ScriptedSession } from './scripted-session.ts';

export interface World extends Surroundings {
  readonly clock: ManualClock;
  wake(wake: Wake): void;
  /** Of the follower, on the world. */
  readonly listeners: number;
}

export function manualWorld(seed = 1): World {
  const listeners = new Set<(wake: Wake) => void>();
  return {
    clock: manualClock(seed),
    onWake(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    wake: (wake) => [...listeners].forEach((listener) => listener(wake)),
    get listeners() {
      return listeners.size;
    },
  };
}

export interface Followed {
  readonly follower: Follower;
  readonly session: ScriptedSession;
  readonly clock: ManualClock;
  wake(wake: Wake): void;
  readonly events: SessionEvent[];
  readonly sequences: number[];
  readonly statuses: FollowerStatus[];
  readonly states: string[];
  readonly faults: Fault[];
  readonly resets: Reset[];
  /** Nothing of the follower is left: no timer, no listener, no open stream. */
  readonly remains: { readonly timers: number; readonly listeners: number; readonly streams: number };
}

export interface FollowedOptions extends Omit<Partial<FollowOptions>, keyof Callbacks> {
  readonly at?: ScriptedSession;
  readonly world?: World;
  readonly onEvents?: (events: readonly SessionEvent[]) => void | Promise<void>;
}

export function followScripted(options: FollowedOptions = {}): Followed {
  const { at: session = new ScriptedSession(), world = manualWorld(), onEvents, ...rest } = options;
  const events: SessionEvent[] = [];
  const statuses: FollowerStatus[] = [];
  const faults: Fault[] = [];
  const resets: Reset[] = [];
  const follower = followSession(
    {
      url: 'http://ledgerline.test',
      session: 's1',
      share: false,
      fetch: session.fetch,
      ...rest,
      async onEvents(batch) {
        await onEvents?.(batch);
        events.push(...batch);
      },
      onStatus: (status) => void statuses.push(status),
      onFault: (fault) => void faults.push(fault),
      onReset: (reset) => void resets.push(reset),
    },
    world,
  );
  return {
    follower,
    session,
    clock: world.clock,
    wake: world.wake,
    events,
    get sequences() {
      return events.map(({ sequence }) => sequence);
    },
    statuses,
    get states() {
      return statuses.map(({ state }) => state);
    },
    faults,
    resets,
    get remains() {
      return { timers: world.clock.waiting, listeners: world.listeners, streams: session.open.length };
    },
  };
}
