/** Tells the server how far its reader has read: when the end of the session is on the screen of a visible tab. */
import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { systemClock } from '../../src/clock.ts';
import type { Timer } from '../../src/clock.ts';
import { markRead } from '../../src/session-list.ts';
import type { SessionSnapshot } from '../../src/session-view.ts';
import { tokenOrNothing } from '../access/token.ts';
import { toFollowError } from '../base/use-poll.ts';

const AGAIN_MS = 5_000;

/** `told`: the server knows. */
export function useReadPosition(session: string, snapshot: SessionSnapshot, isAtEnd: boolean, told: () => void): void {
  const sequence = useLastChange(snapshot);
  const isVisible = useSyncExternalStore(listenToVisibility, () => !document.hidden);
  const isRead = sequence > 0 && isAtEnd && isVisible;
  const latest = useRef({ read: 0, told });
  useEffect(() => {
    latest.current.told = told;
  });

  useEffect(() => {
    if (!isRead || sequence <= latest.current.read) return undefined;
    const stop = new AbortController();
    const { signal } = stop;
    let timer: Timer | undefined;
    const tell = (): void => {
      markRead({ url: '', token: tokenOrNothing, session, sequence, signal }).then(
        () => {
          latest.current.read = sequence;
          latest.current.told();
        },
        (thrown: unknown) => {
          // What is refused for good stays unread; why, the stream says.
          if (!signal.aborted && toFollowError(thrown).code === 'unavailable')
            timer = systemClock.after(AGAIN_MS, tell);
        },
      );
    };
    tell();
    return () => {
      stop.abort();
      timer?.cancel();
    };
  }, [session, sequence, isRead]);
}

/** Where the agent's state changed last, as its ends and its questions do; not each token. 0 while nothing is known. */
function useLastChange({ cursor, turn }: SessionSnapshot): number {
  const [last, setLast] = useState({ change: '', sequence: 0 });
  const change = `${turn.state} ${turn.turn ?? ''} ${turn.since ?? ''}`;
  if (typeof cursor !== 'number' || cursor === 0 || last.change === change) return last.sequence;
  setLast({ change, sequence: cursor });
  return cursor;
}

function listenToVisibility(listener: () => void): () => void {
  document.addEventListener('visibilitychange', listener);
  return () => document.removeEventListener('visibilitychange', listener);
}
