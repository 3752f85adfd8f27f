/** A turn of the operators' list: where, since when and why, and what to do about it. */
import { useState } from 'react';
import type { ReactElement } from 'react';
import { formatAge, formatFullTime, shortId } from '../base/format.ts';
import { PageLink } from '../base/page-link.tsx';
import { toFollowError } from '../base/use-poll.ts';
import { TurnDoubts } from './turn-doubts.tsx';
import { actOn } from './turn-list.ts';
import type { ListedTurn, TurnAction } from './turn-list.ts';
import { actionWords, actionsFor, toTryWords, toTurnWords } from './turn-words.ts';

interface TurnRowProps {
  readonly listed: ListedTurn;
  readonly may: { readonly send: boolean; readonly write: boolean };
  readonly nowMs: number;
  readonly open: (session: string) => void;
  /** Something was done about it. */
  readonly acted: () => void;
}

export function TurnRow({ listed, may, nowMs, open, acted }: TurnRowProps): ReactElement {
  const { session, turn, worker, since, error, doubts } = listed;
  const [doing, setDoing] = useState<TurnAction>();
  const [problem, setProblem] = useState<string>();
  const words = toTurnWords(listed);
  const tries = toTryWords(listed);
  const act = (action: TurnAction): void => {
    setDoing(action);
    setProblem(undefined);
    actOn(session, turn, action)
      .then(acted, (thrown: unknown) => setProblem(toFollowError(thrown).message))
      .finally(() => setDoing(undefined));
  };
  return (
    <li className={`turn-row card is-${words.tone}`} data-turn={turn ?? ''} data-status={listed.status}>
      <div className="turn-row-head">
        <span className="turn-row-state">{words.label}</span>
        <PageLink className="turn-row-session" to={{ session }} go={() => open(session)} title={session}>
          {session}
        </PageLink>
        <time dateTime={since} title={formatFullTime(since)}>
          {formatAge(since, nowMs)}
        </time>
      </div>
      {error !== null && (
        <p className="turn-error">
          {error.code}: {error.message}
        </p>
      )}
      {turn !== null && doubts.length > 0 && (
        <TurnDoubts session={session} turn={turn} doubts={doubts} mayResolve={may.write} acted={acted} />
      )}
      <div className="turn-row-foot">
        <span className="hint">
          {[turn !== null && `turn ${shortId(turn)}`, tries, worker !== null && `by ${worker}`]
            .filter((part) => typeof part === 'string')
            .join(', ')}
        </span>
        <span className="turn-row-actions">
          {listed.status === 'waiting' && (
            <PageLink className="button" to={{ session }} go={() => open(session)} aria-label={`Decide in ${session}`}>
              Decide
            </PageLink>
          )}
          {actionsFor(listed, may).map((action) => (
            <button
              key={action}
              type="button"
              className="button"
              title={actionWords[action].title}
              aria-label={`${actionWords[action].label}: ${session}`}
              aria-disabled={doing !== undefined}
              onClick={doing === undefined ? () => act(action) : undefined}
            >
              {doing === action ? `${actionWords[action].label}…` : actionWords[action].label}
            </button>
          ))}
        </span>
      </div>
      {problem !== undefined && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
    </li>
  );
}
