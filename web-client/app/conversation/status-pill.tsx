/** The follower's state, always in sight: the countdown for the eye, the change for the ear. */
import type { ReactElement } from 'react';
import type { FollowerStatus } from '../../src/follower.ts';
import { useNow } from '../base/use-now.ts';
import { toSpokenStatus, toStatusWords } from './status-words.ts';

interface StatusPillProps {
  readonly status: FollowerStatus;
  /** This tab holds the connection, or another one does for it. */
  readonly isLeading: boolean;
}

export function StatusPill({ status, isLeading }: StatusPillProps): ReactElement {
  const nowMs = useNow(status.state === 'waiting');
  const { tone, label, detail } = toStatusWords(status, nowMs);
  const holder = holderOf(status, isLeading);
  return (
    <div className={`status-pill is-${tone}`} data-state={status.state} title={detail}>
      <output className="visually-hidden">{toSpokenStatus(status)}</output>
      <span className="status-dot" />
      <span className="status-label" aria-hidden="true">
        {label}
      </span>
      {holder !== undefined && (
        <span className="status-holder" title={holder.title}>
          {holder.words}
        </span>
      )}
    </div>
  );
}

function holderOf({ state }: FollowerStatus, isLeading: boolean): { words: string; title: string } | undefined {
  if (state !== 'live' && state !== 'replaying') return undefined;
  return isLeading
    ? { words: 'this tab', title: 'This tab holds the connection' }
    : { words: 'shared', title: 'Another tab of this browser holds the connection' };
}
