/** One session of the list: its name, what its agent does, and whether something in it was not read. */
import type { ReactElement } from 'react';
import { PageLink } from '../base/page-link.tsx';
import type { ListedSession } from '../../src/session-list.ts';
import { titleOf, toRowWords } from './session-list.ts';

interface SessionRowProps {
  readonly session: string;
  /** Undefined: it is open here, and no session of the list. */
  readonly listed?: ListedSession;
  readonly hasFailed?: boolean;
  readonly isSelected: boolean;
  readonly nowMs: number;
  readonly select: (session: string) => void;
}

export function SessionRow(props: SessionRowProps): ReactElement {
  const { session, listed, hasFailed = false, isSelected, nowMs, select } = props;
  // Of the session that is open, the conversation itself shows what is new.
  const isUnread = listed?.unread === true && !isSelected;
  const words = listed && toRowWords(listed, hasFailed, nowMs);
  return (
    <li className={isSelected ? 'session-row is-selected' : 'session-row'} data-listed={session}>
      <PageLink
        to={{ session }}
        go={() => select(session)}
        title={session}
        aria-current={isSelected ? 'page' : undefined}
      >
        <span className="session-id">{(listed && titleOf(listed)) ?? session}</span>
        {words !== undefined && (
          <span className={`session-facts is-${words.tone}`}>
            <span className="session-work">{words.words}</span>
            {words.age !== '' && <span className="session-age">{words.age}</span>}
          </span>
        )}
        {isUnread && (
          <span className="unread-dot" title="Unread">
            <span className="visually-hidden">, unread</span>
          </span>
        )}
      </PageLink>
    </li>
  );
}
