/** The agent's state, always in sight above the composer, and what a person can do about it. */
import { useState } from 'react';
import type { ReactElement, RefObject } from 'react';
import type { TurnNow } from '../../src/turn-now.ts';
import { Icon } from '../base/icon.tsx';
import { useNow } from '../base/use-now.ts';
import { toFollowError } from '../base/use-poll.ts';
import { toAgentWords, toSpokenAgent } from './agent-words.ts';
import type { Ending } from './last-turn.ts';

interface AgentBarProps {
  readonly turn: TurnNow;
  /** The last turn's id, and how it ended. */
  readonly last: string | undefined;
  readonly ending: Ending;
  /** Of this browser's, before the one that the turn's times are from. */
  readonly clockLeadMs: number;
  readonly stopButton: RefObject<HTMLButtonElement | null>;
  /** Undefined for who may not. */
  readonly stop: (() => Promise<unknown>) | undefined;
  /** The last turn once more; undefined for who may not. */
  readonly retry: ((turn: string) => Promise<unknown>) | undefined;
  /** To the open question, or the step in doubt. */
  readonly showAsked: (() => void) | undefined;
}

export function AgentBar(props: AgentBarProps): ReactElement {
  const { turn, last, ending, clockLeadMs, stopButton, stop, retry, showAsked } = props;
  const isIdle = turn.state === 'idle';
  const nowMs = useNow(!isIdle) - clockLeadMs;
  const { tone, label, time, detail } = toAgentWords(turn, nowMs, ending);
  const isAgain = isIdle && (ending === 'resolved' || (ending === 'failed' && turn.error !== undefined));
  return (
    <section className={`agent-bar is-${tone}`} aria-label="The agent" data-agent={turn.state}>
      <output className="visually-hidden">{toSpokenAgent(turn, ending)}</output>
      <span className="status-dot" />
      <span className="agent-label" aria-hidden="true">
        {label}
        {time !== undefined && <span className="agent-time"> {time}</span>}
      </span>
      {detail !== undefined && (
        <span className="agent-detail" title={detail} aria-hidden="true">
          {detail}
        </span>
      )}
      <span className="agent-actions">
        {showAsked !== undefined && (
          <button type="button" className="button quiet" onClick={showAsked}>
            {turn.state === 'waiting' ? 'Show the question' : 'Show the step'}
          </button>
        )}
        {isAgain && last !== undefined && retry !== undefined && (
          <ActionButton
            key={`retry ${last}`}
            label={ending === 'resolved' ? 'Go on' : 'Retry'}
            icon="restart"
            act={() => retry(last)}
          />
        )}
        {!isIdle && stop !== undefined && (
          <ActionButton
            key={`stop ${turn.turn ?? ''}`}
            button={stopButton}
            label="Stop"
            icon="stop"
            isDone={turn.state === 'stopping'}
            shortcut="s"
            act={stop}
          />
        )}
      </span>
    </section>
  );
}

interface ActionButtonProps {
  readonly label: string;
  readonly icon: 'restart' | 'stop';
  readonly button?: RefObject<HTMLButtonElement | null>;
  readonly isDone?: boolean;
  readonly shortcut?: string;
  readonly act: () => Promise<unknown>;
}

/** Asks once, and says why not when it is refused. */
function ActionButton({ label, icon, button, isDone = false, shortcut, act }: ActionButtonProps): ReactElement {
  const [isAsking, setIsAsking] = useState(false);
  const [problem, setProblem] = useState<string>();
  const isOff = isAsking || isDone;
  const ask = (): void => {
    setIsAsking(true);
    setProblem(undefined);
    act()
      .catch((thrown: unknown) => setProblem(toFollowError(thrown).message))
      .finally(() => setIsAsking(false));
  };
  return (
    <>
      {problem !== undefined && (
        <span className="problem" role="alert">
          {problem}
        </span>
      )}
      <button
        ref={button}
        type="button"
        className="button"
        aria-disabled={isOff}
        aria-keyshortcuts={shortcut}
        title={shortcut === undefined ? undefined : `${label} (${shortcut})`}
        onClick={isOff ? undefined : ask}
      >
        <Icon name={icon} />
        {label}
      </button>
    </>
  );
}
