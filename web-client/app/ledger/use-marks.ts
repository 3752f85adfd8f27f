/** The marks of a session: the lab's, asked for twice a second in development, and this browser's own. */
import { useCallback, useEffect, useRef, useState } from 'react';
import type { RefObject } from 'react';
import { systemClock } from '../../src/clock.ts';
import type { SessionSnapshot } from '../../src/session-view.ts';
import { usePoll } from '../base/use-poll.ts';
import { hasLab, readLabMarks } from '../lab/lab-client.ts';
import { addMarks, noMarks } from './marks.ts';
import type { Mark, Marks, MarksInput } from './marks.ts';

const POLL_MS = 500;

export function useMarks(session: string, snapshot: SessionSnapshot): readonly Mark[] {
  const state = useRef<Marks>(noMarks);
  const [marks, setMarks] = useState(noMarks.marks);
  /** The cursor moves with each frame; only a new mark is worth another rendering. */
  const add = useCallback((input: MarksInput) => {
    state.current = addMarks(state.current, input);
    setMarks(state.current.marks);
  }, []);

  useLabMarks(session, state, add);
  const { status, cursor } = snapshot;
  useEffect(() => {
    if (cursor === 'head') return;
    add({ kind: 'status', state: status.state, status, cursor, at: new Date(systemClock.wall()).toISOString() });
  }, [add, status, cursor]);
  return marks;
}

function useLabMarks(session: string, state: RefObject<Marks>, add: (input: MarksInput) => void): void {
  const ask = useCallback(
    (signal: AbortSignal) => readLabMarks(session, state.current.labId, signal),
    [session, state],
  );
  const { value } = usePoll(hasLab() ? ask : undefined, POLL_MS);
  useEffect(() => {
    if (value !== undefined) add({ kind: 'lab', marks: value });
  }, [add, value]);
}
