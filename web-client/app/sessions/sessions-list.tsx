/** The list itself: what is found in it, more of it, and why it cannot be read. */
import type { ReactElement } from 'react';
import { useNow } from '../base/use-now.ts';
import { findSessions } from './session-list.ts';
import { SessionRow } from './session-row.tsx';
import type { UsedSessions } from './use-sessions.ts';

interface SessionsListProps {
  readonly used: UsedSessions;
  /** Sessions whose last turn failed, and nobody took note of it. */
  readonly failed: ReadonlySet<string>;
  readonly words: string;
  readonly selected: string | undefined;
  readonly select: (session: string) => void;
}

const AGE_MS = 30_000;

export function SessionsList({ used, failed, words, selected, select }: SessionsListProps): ReactElement {
  const nowMs = useNow(true, AGE_MS);
  const { sessions = [], hasMore, error, more, hold } = used;
  const found = findSessions(sessions, words);
  const isElsewhere = selected !== undefined && !sessions.some(({ session }) => session === selected);
  // What passes by itself is shown where the connection is.
  const isUnreadable = error !== undefined && (used.sessions === undefined || error.code !== 'unavailable');
  return (
    <>
      <ul
        className="session-list"
        onPointerEnter={({ pointerType }) => hold(pointerType === 'mouse')}
        onPointerLeave={() => hold(false)}
      >
        {isElsewhere && <SessionRow session={selected} isSelected nowMs={nowMs} select={select} />}
        {found.map((listed) => (
          <SessionRow
            key={listed.session}
            session={listed.session}
            listed={listed}
            hasFailed={failed.has(listed.session)}
            isSelected={listed.session === selected}
            nowMs={nowMs}
            select={select}
          />
        ))}
      </ul>
      {hasMore && (
        <button type="button" className="button quiet more-sessions" onClick={more}>
          More sessions
        </button>
      )}
      {isUnreadable && <p className="problem">The list cannot be read: {error.message}</p>}
      {!isUnreadable && used.sessions !== undefined && found.length === 0 && (
        <p className="hint">
          {words.trim() === '' ? 'There is no session yet.' : 'None of these. Open goes by the id.'}
        </p>
      )}
    </>
  );
}
