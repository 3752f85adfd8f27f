/** Reads older events as the reader comes near to the first of those that are there. */
import { useCallback, useEffect, useState } from 'react';
import type { FollowError } from '../../src/follow-error.ts';
import type { SessionSnapshot, SessionView } from '../../src/session-view.ts';
import { toFollowError } from '../base/use-poll.ts';

export interface Older {
  readonly isLoading: boolean;
  readonly error: FollowError | undefined;
  /** After an error. */
  readonly again: () => void;
}

interface Place {
  readonly isNearTop: boolean;
  readonly isAtEnd: boolean;
  /** What is there does not fill the screen. */
  readonly isShort: boolean;
}

/** Grows with what is there: whoever scrolls far wants to get on. */
const pageOf = (loaded: number): number => Math.min(1_000, Math.max(200, loaded));

/** So many events that still fill no screen lie in a fold: the reader asks for more by scrolling. */
const MOST_EVENTS_FOR_A_SCREEN = 5_000;

export function useOlder(view: SessionView, snapshot: SessionSnapshot, place: Place): Older {
  const [error, setError] = useState<FollowError>();
  const { hasOlder, isLoadingOlder, events } = snapshot;
  const load = useCallback(() => {
    view.loadOlder(pageOf(view.getSnapshot().events.length)).catch((thrown: unknown) => {
      const failure = toFollowError(thrown);
      if (failure.code !== 'aborted') setError(failure);
    });
  }, [view]);

  const wantsMore = place.isNearTop && (!place.isAtEnd || (place.isShort && events.length < MOST_EVENTS_FOR_A_SCREEN));
  useEffect(() => {
    if (wantsMore && hasOlder && !isLoadingOlder && error === undefined && events.length > 0) load();
  }, [wantsMore, hasOlder, isLoadingOlder, error, events.length, load]);

  const again = useCallback(() => {
    setError(undefined);
    load();
  }, [load]);
  return { isLoading: isLoadingOlder, error, again };
}
