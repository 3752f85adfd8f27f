/** What stands in the conversation's place when there is none: one sentence for what is, and what to do about it. */
import { useState } from 'react';
import type { ReactElement, ReactNode } from 'react';
import type { FollowError } from '../../src/follow-error.ts';
import { CopyLine } from '../base/copy-line.tsx';
import { toFollowError } from '../base/use-poll.ts';
import { createSession } from '../sessions/create-session.ts';

interface StatePanelProps {
  readonly title: string;
  readonly children?: ReactNode;
  /** Which state it is, for tests and styles. */
  readonly state: string;
}

function StatePanel({ title, children, state }: StatePanelProps): ReactElement {
  return (
    <div className="state-panel" data-panel-state={state}>
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export const NothingOpen = (): ReactElement => (
  <StatePanel title="No session is open" state="none">
    <p>Choose one under “Sessions”, or make a new one, and write to its agent.</p>
  </StatePanel>
);

export const NotAnId = ({ session }: { readonly session: string }): ReactElement => (
  <StatePanel title="That is not a session id" state="malformed">
    <p>
      “{session.slice(0, 200)}” cannot be one: an id has 1 to 128 letters, digits, <code>-</code> and <code>_</code>.
    </p>
  </StatePanel>
);

interface EmptyProps {
  readonly session: string;
  readonly maySend: boolean;
}

export const Empty = ({ session, maySend }: EmptyProps): ReactElement => (
  <StatePanel title={maySend ? 'Nothing has been said yet' : 'Nothing has been appended yet'} state="empty">
    {maySend && (
      <p>
        Write the first message below. It is stored before it is answered: an agent takes it up, now or whenever one is
        there.
      </p>
    )}
    <p>{maySend ? 'Or append an event' : 'Append the first event'} from the folder where the server runs:</p>
    <CopyLine line={`echo '{"text":"hello"}' | npx ledgerline append ${session} --type note`} />
    <p>or over HTTP, at the internal address with the internal key:</p>
    <CopyLine
      line={`curl $LEDGERLINE_INTERNAL_URL/internal/sessions/${session}/events \\\n  -H "Authorization: Bearer $LEDGERLINE_KEY" \\\n  -H 'Content-Type: application/json' \\\n  -d '{"events":[{"type":"note","data":{"text":"hello"}}]}'`}
    />
  </StatePanel>
);

export const Loading = (): ReactElement => (
  <output className="skeleton">
    <span className="visually-hidden">The session is being read</span>
    {['a', 'b', 'c', 'd', 'e'].map((name) => (
      <span key={name} className={`skeleton-line is-${name}`} />
    ))}
  </output>
);

interface RefusedProps {
  readonly session: string;
  readonly error: FollowError;
  /** Follow it again from the start. */
  readonly restart: () => void;
  readonly leave: () => void;
}

export function Refused({ session, error, restart, leave }: RefusedProps): ReactElement {
  switch (error.problem ?? '') {
    case 'session_unknown':
      return <Unknown session={session} restart={restart} />;
    case 'session_deleted':
      return (
        <StatePanel title="This session was deleted" state="deleted">
          <p>Its events are erased, and its id is never used again.</p>
          <button type="button" className="button" onClick={leave}>
            Leave it
          </button>
        </StatePanel>
      );
    case 'forbidden':
      return (
        <StatePanel title="The token does not reach this far" state="forbidden">
          <p>{error.message}. Sign in with a token that has the scope “read”.</p>
        </StatePanel>
      );
    default:
      return (
        <StatePanel title={defaults[error.code] ?? 'The session cannot be followed'} state="refused">
          <p>{error.message}</p>
          <button type="button" className="button" onClick={restart}>
            Try again
          </button>
        </StatePanel>
      );
  }
}

const defaults: Partial<Record<FollowError['code'], string>> = {
  not_ledgerline: 'What answered is not Ledgerline',
  refused: 'The gateway refused',
};

/** One that does not exist and one out of reach have the same answer. */
function Unknown({ session, restart }: { readonly session: string; readonly restart: () => void }): ReactElement {
  const [problem, setProblem] = useState<string>();
  const make = (): void => {
    createSession(session).then(restart, (thrown: unknown) => setProblem(toFollowError(thrown).message));
  };
  return (
    <StatePanel title="There is no such session" state="unknown">
      <p>
        “{session}” does not exist, or this token does not reach it. An append from the command line makes it, and so
        does this:
      </p>
      <button type="button" className="button primary" onClick={make}>
        Make “{session}”
      </button>
      {problem !== undefined && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
    </StatePanel>
  );
}
