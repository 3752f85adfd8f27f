/** One connection's way to be ended from this side: by its owner, by silence, or because something better is known. */
import type { Clock, Timer } from './clock.ts';
import type { WaitCause } from './recipient.ts';
import { whenAborted } from './when-aborted.ts';

/** Two and a half times the server's `sync` interval of 15 s. */
const SILENCE_MS = 37_500;
/** A timer that is later than this was held back with the whole page, and bytes may be waiting behind it. */
const LATE_MS = 1_000;

export interface Line {
  /** Aborts when the connection is to end. */
  readonly signal: AbortSignal;
  /** Why this side ended it, unless its owner did. */
  readonly severed: WaitCause | undefined;
  /** How often something came, or the consumer took it; undefined while the consumer works. */
  readonly beats: number | undefined;
  /** Something came. */
  beat(): void;
  /** Until the next beat silence is the consumer's. */
  pause(): void;
  sever(cause: WaitCause): void;
  close(): void;
}

export function openLine(clock: Clock, stop: AbortSignal): Line {
  const controller = new AbortController();
  const hangUp = () => controller.abort();
  let severed: WaitCause | undefined;
  let beats = 0;
  let timer: Timer | undefined;

  function watch(forMs: number): void {
    const dueMs = clock.now() + forMs;
    timer = clock.after(forMs, () => {
      if (clock.now() > dueMs + LATE_MS) watch(LATE_MS);
      else sever('silent');
    });
  }
  function sever(cause: WaitCause): void {
    severed ??= cause;
    hangUp();
  }
  function pause(): void {
    timer?.cancel();
    timer = undefined;
  }
  function beat(): void {
    pause();
    beats += 1;
    watch(SILENCE_MS);
  }

  const stopListening = whenAborted(stop, hangUp);
  beat();
  return {
    signal: controller.signal,
    get severed() {
      return severed;
    },
    get beats() {
      return timer && beats;
    },
    beat,
    pause,
    sever,
    close() {
      pause();
      stopListening();
      hangUp();
    },
  };
}
