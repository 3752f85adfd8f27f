/** Lets the tabs of one browser send a session's messages one after the other, and tell each other what became of them. */
import type { Clock } from './clock.ts';
import { canShare } from './read-shared.ts';
import { takeTurn } from './tab-lock.ts';
import type { TabLocks } from './tab-lock.ts';
import { whenAborted } from './when-aborted.ts';

/** What one sender tells the others of a message that they may show, too. */
export type SenderNews =
  /** It is in the storage: new, or to be tried again. */
  | { readonly kind: 'kept'; readonly key: string }
  | { readonly kind: 'sent'; readonly key: string; readonly sequence: number }
  | { readonly kind: 'discarded'; readonly key: string }
  | {
      readonly kind: 'refused';
      readonly key: string;
      readonly message: string;
      readonly status: number | undefined;
      readonly problem: string | undefined;
    };

export interface SenderTabs {
  /** Runs while no other tab does, or after a wait that none of them takes if it is well. Never rejects if `run` does not. */
  inTurn<T>(run: () => Promise<T>, stop: AbortSignal): Promise<T>;
  tell(news: SenderNews): void;
  close(): void;
}

export type OpenSenderTabs = (name: string, clock: Clock, hear: (news: SenderNews) => void) => SenderTabs;

/** Longer than a try takes. Whoever holds the lock for longer is frozen with it, and what is sent twice is stored once. */
const PATIENCE_MS = 20_000;

const alone: SenderTabs = { inTurn: (run) => run(), tell: () => undefined, close: () => undefined };

export const openSenderTabs: OpenSenderTabs = (name, clock, hear) => {
  if (!canShare()) return alone;
  try {
    const channel = new BroadcastChannel(name);
    const post = channel.postMessage.bind(channel);
    let isOpen = true;
    channel.addEventListener('message', ({ data }: MessageEvent<SenderNews>) => hear(data));
    return {
      inTurn: (run, stop) => takeLock(navigator.locks as TabLocks, name, clock, run, stop),
      tell(news) {
        // Closed, it throws, and whoever sends to a view that was stopped would have that instead of the refusal.
        if (isOpen) post(news);
      },
      close() {
        isOpen = false;
        channel.close();
      },
    };
  } catch {
    // Refused, as in a frame whose storage is blocked: nobody else sends there either.
    return alone;
  }
};

export async function takeLock<T>(
  locks: TabLocks,
  name: string,
  clock: Clock,
  run: () => Promise<T>,
  stop: AbortSignal,
): Promise<T> {
  const line = new AbortController();
  const leave = (): void => line.abort();
  const timer = clock.after(PATIENCE_MS, leave);
  const stopListening = whenAborted(stop, leave);
  let running: Promise<T> | undefined;
  await takeTurn({
    locks,
    name,
    isTheft: false,
    signal: line.signal,
    async hold() {
      timer.cancel();
      await (running = run());
    },
  });
  timer.cancel();
  stopListening();
  return running ?? run();
}
