/** What a development server is told to lose and to hold back, so that a repair can be watched. It outlives a restart of the gateway. */
import type { Clock, Timer } from '../base/clock.ts';
import { labLimits } from '../base/lab-limits.ts';
import type { Broadcast, Bus, SuspectReason } from '../bus/bus.ts';
import type { RoomsObserver } from '../room/observer.ts';
import { faultyBus } from './faulty-bus.ts';
import { createMarks } from './marks.ts';
import type { Marks } from './marks.ts';

export interface LabState {
  readonly isHeadCheckPaused: boolean;
  readonly isBusStopped: boolean;
  /** A broadcast of some session will be lost. */
  readonly dropsNext: boolean;
}

export interface Lab {
  readonly state: LabState;
  readonly marks: Pick<Marks, 'after'>;
  /** For the rooms of every gateway. */
  readonly observer: RoomsObserver;
  /** The bus of a gateway, with the lab's faults. */
  spoil(bus: Bus): Bus;
  /** A bus that loses everything. */
  readonly unheard: Pick<Bus, 'publish'>;
  /** Loses the session's next broadcast of events. */
  dropNext(session: string): void;
  /** Loses every broadcast for `labLimits.labBusStopMs` from now. */
  stopBus(): void;
  pauseHeadCheck(isPaused: boolean): void;
  /** Returns at once; what is being answered is answered first. */
  restartGateway(): void;
}

export interface LabOptions {
  readonly clock: Clock;
  readonly restartGateway: () => void;
}

export function createLab({ clock, restartGateway }: LabOptions): Lab {
  const marks = createMarks(clock);
  const suspicious = new Set<(reason: SuspectReason) => void>();
  /** Sessions whose next broadcast will be lost, in the order asked for. */
  const dropping = new Set<string>();
  let returning: Timer | undefined;
  let isHeadCheckPaused = false;

  function lose(session: string, broadcast: Broadcast): void {
    if (broadcast.kind !== 'events') return;
    marks.add(session, { kind: 'lost', first: broadcast.first, last: broadcast.last });
  }

  function suspect(reason: SuspectReason): void {
    for (const listener of suspicious) listener(reason);
  }

  const faults = {
    get isStopped() {
      return returning !== undefined;
    },
    loses(session: string, broadcast: Broadcast): boolean {
      const isDropped = broadcast.kind === 'events' && dropping.delete(session);
      const isLost = isDropped || returning !== undefined;
      if (isLost) lose(session, broadcast);
      return isLost;
    },
    onSuspect(listener: (reason: SuspectReason) => void) {
      suspicious.add(listener);
      return { unsubscribe: () => void suspicious.delete(listener) };
    },
  };

  return {
    get state() {
      return { isHeadCheckPaused, isBusStopped: faults.isStopped, dropsNext: dropping.size > 0 };
    },
    marks,
    observer: {
      onRepaired: (session, repair) => marks.add(session, { kind: 'repaired', ...repair }),
      isHeadCheckPaused: () => isHeadCheckPaused,
    },
    spoil: (bus) => faultyBus(bus, faults),
    unheard: { publish: lose },
    dropNext(session) {
      dropping.add(session);
      const [oldest] = dropping;
      if (dropping.size > labLimits.labSessions && oldest !== undefined) dropping.delete(oldest);
    },
    stopBus() {
      returning?.cancel();
      returning = clock.after(labLimits.labBusStopMs, () => {
        returning = undefined;
        suspect('reconnected');
      });
      suspect('away');
    },
    pauseHeadCheck: (isPaused) => void (isHeadCheckPaused = isPaused),
    restartGateway,
  };
}
