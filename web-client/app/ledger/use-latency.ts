/** Measures from append to screen: the wall clock after the paint, less the time that Postgres gave the event. */
import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import { systemClock } from '../../src/clock.ts';
import type { SessionEvent } from '../../src/session-event.ts';
import type { SessionSnapshot } from '../../src/session-view.ts';
import { addSamples } from './latency.ts';

/** Milliseconds, the oldest first. Of events that came live while the page could be seen. */
export function useLatency({ events, status }: SessionSnapshot): readonly number[] {
  const [samplesMs, setSamplesMs] = useState<readonly number[]>([]);
  /** The last event that was measured or is none of ours to measure; undefined while it is not live. */
  const seen = useRef<number>(undefined);
  const isStopped = useRef(false);
  useEffect(() => {
    isStopped.current = false;
    return () => {
      isStopped.current = true;
    };
  }, []);

  const isLive = status.state === 'live';
  useLayoutEffect(() => {
    const last = events.at(-1)?.sequence ?? 0;
    const from = seen.current;
    seen.current = isLive && !document.hidden ? last : undefined;
    if (seen.current === undefined || from === undefined || last <= from) return;
    const fresh = newerThan(events, from);
    // This runs before the paint of the frame it is in, and a timer's turn comes after it.
    systemClock.after(0, () => {
      if (isStopped.current || document.hidden) return;
      const nowMs = systemClock.wall();
      const times = fresh.map(({ at }) => nowMs - Date.parse(at)).filter((ms) => !Number.isNaN(ms));
      setSamplesMs((before) => addSamples(before, times));
    });
  }, [events, isLive]);
  return samplesMs;
}

function newerThan(events: readonly SessionEvent[], sequence: number): readonly SessionEvent[] {
  const place = events.findLastIndex((event) => event.sequence <= sequence);
  return events.slice(place + 1);
}
