/** The search of a session: what is loaded at once, and what is older when it is asked for. */
import { useCallback, useDeferredValue, useEffect, useMemo, useRef, useState } from 'react';
import type { FollowError } from '../../src/follow-error.ts';
import type { SessionView } from '../../src/session-view.ts';
import type { TimelineItem } from '../../src/timeline-item.ts';
import { toFollowError } from '../base/use-poll.ts';
import { findMatches, stepMatch, toPattern } from './search.ts';

export interface Search {
  readonly query: string;
  readonly pattern: RegExp | undefined;
  /** Keys of items, in order. */
  readonly matches: readonly string[];
  /** The one that is pointed at. */
  readonly current: string | undefined;
  /** While older events are being read for a match. */
  readonly isSearchingBack: boolean;
  readonly error: FollowError | undefined;
  readonly setQuery: (query: string) => void;
  /** To the match before; where there is none, older events are read until there is. */
  readonly older: () => void;
  readonly newer: () => void;
  readonly cancel: () => void;
}

const OLDER_EVENTS = 1_000;

export function useSearch(view: SessionView, items: readonly TimelineItem[]): Search {
  const [query, setQuery] = useState('');
  const [current, setCurrent] = useState<string>();
  const [back, setBack] = useState<AbortController>();
  const [error, setError] = useState<FollowError>();
  const pattern = useMemo(() => toPattern(query), [query]);
  // A frame of the stream comes before the count of matches.
  const searched = useDeferredValue(items);
  const matches = useMemo(() => (pattern === undefined ? [] : findMatches(searched, pattern)), [searched, pattern]);
  const latest = useRef({ matches, current, pattern });
  useEffect(() => {
    latest.current = { matches, current, pattern };
  }, [matches, current, pattern]);

  const change = useCallback(
    (next: string) => {
      back?.abort();
      setBack(undefined);
      setError(undefined);
      setCurrent(undefined);
      setQuery(next);
    },
    [back],
  );

  const searchBack = useCallback(
    async (wanted: RegExp, known: ReadonlySet<string>, signal: AbortSignal): Promise<void> => {
      const release = view.keepAll();
      try {
        while (!signal.aborted && view.getSnapshot().hasOlder) {
          await view.loadOlder(OLDER_EVENTS);
          const found = findMatches(view.getSnapshot().timeline.items, wanted).findLast((key) => !known.has(key));
          if (found === undefined || signal.aborted) continue;
          view.setAtEnd(false);
          setCurrent(found);
          return;
        }
      } finally {
        release();
      }
    },
    [view],
  );

  const older = useCallback(() => {
    const { matches: known, current: from, pattern: wanted } = latest.current;
    const match = stepMatch(known, from, -1);
    if (match !== undefined) setCurrent(match);
    else if (wanted !== undefined && back === undefined && view.getSnapshot().hasOlder) {
      const controller = new AbortController();
      setBack(controller);
      setError(undefined);
      searchBack(wanted, new Set(known), controller.signal)
        .catch((thrown: unknown) => setError(toFollowError(thrown)))
        .finally(() => setBack((running) => (running === controller ? undefined : running)));
    }
  }, [back, searchBack, view]);

  const newer = useCallback(() => {
    const { matches: known, current: from } = latest.current;
    const match = stepMatch(known, from, 1);
    if (match !== undefined) setCurrent(match);
  }, []);
  const cancel = useCallback(() => {
    back?.abort();
    setBack(undefined);
  }, [back]);

  useEffect(() => () => back?.abort(), [back]);
  return {
    query,
    pattern,
    matches,
    current,
    isSearchingBack: back !== undefined,
    error,
    setQuery: change,
    older,
    newer,
    cancel,
  };
}
