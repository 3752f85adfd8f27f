/** Hands events to a loop one by one, and holds up who brings them until the loop comes back for more. */
import type { SessionEvent } from './session-event.ts';

export interface Handover {
  /** A loop is there. */
  open(): void;
  /** Resolves when the loop has come back behind the last of them. False, at once, when there is no loop. */
  give(events: readonly SessionEvent[], handed: (event: SessionEvent) => void): Promise<boolean>;
  /** Undefined at the end. */
  take(): Promise<SessionEvent | undefined>;
  /** What is left of the last batch is not handed over any more. */
  end(): void;
}

/** `isAwaited`: what is given before there is a loop waits for one. */
export function createHandover(isAwaited: boolean): Handover {
  let isOpen = isAwaited;
  let isEnded = false;
  let given: Iterator<SessionEvent> = [].values();
  let handed: (event: SessionEvent) => void = () => undefined;
  let taken: (isTaken: boolean) => void = () => undefined;
  const idle: (() => void)[] = [];
  const wake = () => idle.splice(0).forEach((resolve) => resolve());

  return {
    open: () => void (isOpen = true),
    give(events, onHanded) {
      if (!isOpen || isEnded) return Promise.resolve(isOpen);
      given = events.values();
      handed = onHanded;
      wake();
      return new Promise((resolve) => (taken = resolve));
    },
    async take() {
      while (!isEnded) {
        const next = given.next();
        if (next.done !== true) {
          handed(next.value);
          return next.value;
        }
        taken(true);
        await new Promise<void>((resolve) => idle.push(resolve));
      }
      return undefined;
    },
    end() {
      isEnded = true;
      wake();
      taken(true);
    },
  };
}
