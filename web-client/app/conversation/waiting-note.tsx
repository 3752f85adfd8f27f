/** Why the follower waits, and a way not to wait: over the conversation, so that nothing moves under the reader. */
import type { ReactElement } from 'react';
import type { FollowerStatus } from '../../src/follower.ts';
import { useNow } from '../base/use-now.ts';
import { toStatusWords } from './status-words.ts';

interface WaitingNoteProps {
  readonly status: FollowerStatus;
  readonly retry: () => void;
}

export function WaitingNote({ status, retry }: WaitingNoteProps): ReactElement | undefined {
  const isWaiting = status.state === 'waiting';
  const nowMs = useNow(isWaiting);
  if (!isWaiting) return undefined;
  const { label, detail } = toStatusWords(status, nowMs);
  return (
    <div className="floating note is-waiting" data-note="waiting">
      <span>
        {detail} {label}.
      </span>
      <button type="button" className="button quiet" onClick={retry}>
        Retry now
      </button>
    </div>
  );
}
