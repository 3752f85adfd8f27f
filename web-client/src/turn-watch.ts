/** What a session's agent does, where the events of a window begin too late to tell: then the server is asked. */
import type { SessionEvent } from './session-event.ts';
import type { SessionFacts } from './session-server.ts';
import type { SessionWindow } from './session-window.ts';
import { turnOf } from './timeline.ts';
import { foldOf, foldTurn, toldBy } from './turn-now.ts';
import type { TurnFold, TurnNow } from './turn-now.ts';

export interface TurnWatch {
  /** Asks, if nothing tells; `isLive`: all events are here that there are. */
  now(window: SessionWindow, isLive: boolean): TurnNow;
  take(events: readonly SessionEvent[]): void;
  reset(): void;
}

/** `describe` rejects when the session is refused, which the stream then tells. */
export function createTurnWatch(describe: () => Promise<SessionFacts>, onChange: () => void): TurnWatch {
  /** What the server said, with what has happened since the last event that was here when it was asked. */
  let told: { readonly after: number; readonly fold: TurnFold } | undefined;
  /** Changes with each reset: an answer about what was before is none. */
  let edition = {};
  let isAsking = false;
  let events: readonly SessionEvent[] = [];

  const grow = (after: number, fold: TurnFold, more: readonly SessionEvent[]): void => {
    told = { after, fold: more.filter(({ sequence }) => sequence > after).reduce(foldTurn, fold) };
  };

  function ask(): void {
    const asked = edition;
    const after = events.at(-1)?.sequence ?? 0;
    isAsking = true;
    describe().then(
      ({ turn }) => {
        if (asked !== edition) return;
        isAsking = false;
        // What it says is no older than the question. What is newer comes as events, and says the same once more.
        grow(after, foldOf(turn), events);
        onChange();
      },
      // Refused for good, or over. The stream meets the same, and says so; nobody asks again.
      () => undefined,
    );
  }

  return {
    now(window, isLive) {
      events = window.events;
      const sure = turnOf(window.timeline) ?? (told && toldBy(told.fold));
      if (sure === undefined && isLive && !isAsking) ask();
      return sure ?? told?.fold.now ?? { state: 'idle' };
    },
    take(more) {
      if (told !== undefined) grow(told.after, told.fold, more);
      if (isAsking) events = events.concat(more);
    },
    reset() {
      edition = {};
      isAsking = false;
      told = undefined;
    },
  };
}
