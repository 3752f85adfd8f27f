/** This browser's list of sessions, the same in all of its tabs. */
import { useCallback, useEffect, useState } from 'react';
import { onStoredElsewhere, readStored, writeStored } from '../base/stored.ts';
import { addSession, forgetSession, parseSessions } from './session-list.ts';

export interface UsedSessions {
  readonly sessions: readonly string[];
  readonly add: (session: string) => void;
  readonly forget: (session: string) => void;
}

export function useSessions(): UsedSessions {
  const [sessions, setSessions] = useState(read);
  useEffect(() => onStoredElsewhere('sessions', () => setSessions(read())), []);

  /** Read again before each change: another tab may have added what this one has not heard of. */
  const change = useCallback((by: (sessions: readonly string[]) => readonly string[]) => {
    const before = read();
    const after = by(before);
    if (after !== before) writeStored('sessions', JSON.stringify(after));
    setSessions(after);
  }, []);
  const add = useCallback((session: string) => change((known) => addSession(known, session)), [change]);
  const forget = useCallback((session: string) => change((known) => forgetSession(known, session)), [change]);
  return { sessions, add, forget };
}

const read = (): readonly string[] => parseSessions(readStored('sessions'));
