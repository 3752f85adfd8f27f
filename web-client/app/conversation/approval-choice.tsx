/** Where a person decides: approve or deny, with a word to it or without. */
import { useId, useState } from 'react';
import type { ReactElement } from 'react';
import { Icon } from '../base/icon.tsx';
import { toFollowError } from '../base/use-poll.ts';
import type { Decide } from './reading.ts';

interface ApprovalChoiceProps {
  readonly approval: string;
  readonly decide: Decide;
}

type Decision = Parameters<Decide>[1];

export function ApprovalChoice({ approval, decide }: ApprovalChoiceProps): ReactElement {
  const id = useId();
  const [comment, setComment] = useState('');
  /** What was asked of the server: it stands until the session says what was decided. */
  const [asked, setAsked] = useState<Decision>();
  const [problem, setProblem] = useState<string>();
  const isOff = asked !== undefined;
  const choose = (decision: Decision): void => {
    const words = comment.trim();
    setAsked(decision);
    setProblem(undefined);
    decide(approval, decision, words === '' ? undefined : words).then(
      ({ decision: made }) => {
        if (made === null) setProblem('The turn that asked is over: there is nothing left to decide.');
      },
      (thrown: unknown) => {
        setAsked(undefined);
        setProblem(toFollowError(thrown).message);
      },
    );
  };
  return (
    <form className="approval-choice" aria-label="Your decision" onSubmit={(event) => event.preventDefault()}>
      <label className="visually-hidden" htmlFor={id}>
        Comment
      </label>
      <input
        id={id}
        className="field"
        placeholder="Comment, if you like"
        autoComplete="off"
        maxLength={1_000}
        value={comment}
        disabled={isOff}
        onChange={(event) => setComment(event.target.value)}
      />
      <button
        type="button"
        className="button primary"
        aria-disabled={isOff}
        onClick={isOff ? undefined : () => choose('approved')}
      >
        <Icon name="check" />
        {asked === 'approved' ? 'Approving' : 'Approve'}
      </button>
      <button
        type="button"
        className="button"
        aria-disabled={isOff}
        onClick={isOff ? undefined : () => choose('denied')}
      >
        <Icon name="close" />
        {asked === 'denied' ? 'Denying' : 'Deny'}
      </button>
      {problem !== undefined && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
    </form>
  );
}
