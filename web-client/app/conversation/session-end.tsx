/** The last line of a session that will have no more, and why. */
import type { ReactElement } from 'react';
import type { FollowerStatus } from '../../src/follower.ts';
import { formatInteger } from '../base/format.ts';

interface SessionEndProps {
  readonly status: FollowerStatus;
  readonly last: number;
  readonly restart: () => void;
}

export function SessionEnd({ status, last, restart }: SessionEndProps): ReactElement | undefined {
  if (status.state !== 'stopped') return undefined;
  const { end } = status;
  switch (end.kind) {
    case 'ended':
      return (
        <div className="session-end" data-end={end.reason}>
          <p>
            {end.reason === 'closed'
              ? `The session was closed at ${formatInteger(last)}. Nothing more will come; a new session goes on elsewhere.`
              : 'The session was deleted. What is here is all that this browser still has of it.'}
          </p>
        </div>
      );
    case 'refused':
      return (
        <div className="session-end is-refused" data-end="refused">
          <p>
            The stream was refused: {end.error.message}{' '}
            <button type="button" className="button quiet" onClick={restart}>
              Try again
            </button>
          </p>
        </div>
      );
    case 'aborted':
      return undefined;
  }
}
