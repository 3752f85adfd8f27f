/** Where a person tells what became of a step in doubt: it happened or it did not, and then, confirmed, what follows. */
import { useEffect, useRef, useState } from 'react';
import type { ReactElement } from 'react';
import type { Verdict } from '../../src/session-actions.ts';
import { Icon } from '../base/icon.tsx';
import { toFollowError } from '../base/use-poll.ts';
import { ResolveConfirm } from './resolve-confirm.tsx';
import { toRefusalWords } from './resolve-step.ts';
import type { Outcome } from './resolve-step.ts';

interface ResolveChoiceProps {
  readonly tool: string;
  readonly step: number;
  /** Whether a turn of the session can go on. */
  readonly canResume: boolean;
  readonly resolve: (verdict: Verdict, isResumed: boolean) => Promise<void>;
}

const choices = [
  { outcome: 'done', icon: 'check', label: 'It happened' },
  { outcome: 'not_done', icon: 'close', label: 'It did not happen' },
] as const;

export function ResolveChoice({ tool, step, canResume, resolve }: ResolveChoiceProps): ReactElement {
  const [outcome, setOutcome] = useState<Outcome>();
  /** `kept`: the server has it, and the session says so in a moment. */
  const [phase, setPhase] = useState<'open' | 'asking' | 'kept'>('open');
  const [problem, setProblem] = useState<string>();
  const buttons = useRef(new Map<Outcome, HTMLButtonElement | null>());
  const left = useRef<Outcome>(undefined);
  // Who goes back is where they came from.
  useEffect(() => {
    if (outcome === undefined && left.current !== undefined) buttons.current.get(left.current)?.focus();
    left.current = outcome;
  }, [outcome]);

  const choose = (chosen: Outcome | undefined): void => {
    setOutcome(chosen);
    setProblem(undefined);
  };
  const confirm = (verdict: Verdict, isResumed: boolean): void => {
    setPhase('asking');
    setProblem(undefined);
    resolve(verdict, isResumed).then(
      () => setPhase('kept'),
      (thrown: unknown) => {
        setPhase('open');
        setProblem(toRefusalWords(toFollowError(thrown)));
      },
    );
  };

  if (phase === 'kept') return <output className="resolve-kept">It is in the journal.</output>;
  return (
    <div className="resolve">
      {outcome === undefined ? (
        <fieldset className="resolve-choices">
          <legend className="visually-hidden">
            What became of {tool}, step {step}
          </legend>
          {choices.map((choice) => (
            <button
              key={choice.outcome}
              ref={(button) => void buttons.current.set(choice.outcome, button)}
              type="button"
              className="button"
              onClick={() => choose(choice.outcome)}
            >
              <Icon name={choice.icon} />
              {choice.label}
            </button>
          ))}
        </fieldset>
      ) : (
        <ResolveConfirm
          key={outcome}
          outcome={outcome}
          tool={tool}
          step={step}
          canResume={canResume}
          isAsking={phase === 'asking'}
          confirm={confirm}
          leave={() => choose(undefined)}
        />
      )}
      {problem !== undefined && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}
