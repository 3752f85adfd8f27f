/** Before a doubt is resolved: with which result, whether the turn goes on, and in words what follows. */
import { useEffect, useId, useRef, useState } from 'react';
import type { ReactElement } from 'react';
import type { Verdict } from '../../src/session-actions.ts';
import { readResult, toConsequence } from './resolve-step.ts';
import type { Outcome } from './resolve-step.ts';

interface ResolveConfirmProps {
  readonly outcome: Outcome;
  readonly tool: string;
  readonly step: number;
  readonly canResume: boolean;
  readonly isAsking: boolean;
  readonly confirm: (verdict: Verdict, isResumed: boolean) => void;
  readonly leave: () => void;
}

const words = {
  done: { title: 'It happened', confirm: 'Confirm that it happened' },
  not_done: { title: 'It did not happen', confirm: 'Confirm that it did not' },
} as const;

export function ResolveConfirm(props: ResolveConfirmProps): ReactElement {
  const { outcome, tool, step, canResume, isAsking, confirm, leave } = props;
  const id = useId();
  const [text, setText] = useState('');
  const [isResumed, setIsResumed] = useState(canResume);
  const form = useRef<HTMLFormElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => (field.current ?? form.current)?.focus(), []);

  const read = outcome === 'done' ? readResult(text) : undefined;
  const problem = read?.problem;
  const submit = (): void => {
    if (problem !== undefined) field.current?.focus();
    else if (!isAsking)
      confirm(read === undefined ? { outcome: 'not_done' } : { outcome: 'done', result: read.value }, isResumed);
  };
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- Esc, in whichever of its fields
    <form
      ref={form}
      className="resolve-confirm"
      tabIndex={-1}
      aria-label={`${words[outcome].title}: ${tool}, step ${step}`}
      aria-describedby={`${id}-follows`}
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
      onKeyDown={(event) => {
        if (event.key === 'Escape' && !isAsking) leave();
      }}
    >
      <p className="resolve-title">{words[outcome].title}</p>
      {read !== undefined && (
        <div className="resolve-result">
          <label htmlFor={`${id}-result`}>
            Its result, as JSON <span className="hint">(empty: null)</span>
          </label>
          <textarea
            ref={field}
            id={`${id}-result`}
            className="field"
            rows={2}
            spellCheck={false}
            placeholder={'{"receipt":"r1"}'}
            value={text}
            readOnly={isAsking}
            aria-invalid={problem !== undefined}
            aria-describedby={problem === undefined ? undefined : `${id}-problem`}
            onChange={(event) => setText(event.target.value)}
          />
          {problem !== undefined && (
            <p className="problem" id={`${id}-problem`} aria-live="polite">
              {problem}
            </p>
          )}
        </div>
      )}
      {canResume && (
        <label className="resolve-resume">
          <input
            type="checkbox"
            checked={isResumed}
            disabled={isAsking}
            onChange={(event) => setIsResumed(event.target.checked)}
          />
          Go on with the turn
        </label>
      )}
      <p className="resolve-follows" id={`${id}-follows`}>
        {toConsequence(outcome, tool, isResumed)}
      </p>
      <div className="resolve-actions">
        <button type="submit" className="button primary" aria-disabled={isAsking || problem !== undefined}>
          {isAsking ? 'Confirming' : words[outcome].confirm}
        </button>
        <button type="button" className="button" aria-disabled={isAsking} onClick={isAsking ? undefined : leave}>
          Back
        </button>
      </div>
    </form>
  );
}
