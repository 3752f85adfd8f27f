/** Finds a session among those of the list, opens one by its id, or makes a new one. */
import { useId, useState } from 'react';
import type { FormEvent, ReactElement } from 'react';
import { isSessionId } from '../base/address.ts';
import { Icon } from '../base/icon.tsx';
import { toFollowError } from '../base/use-poll.ts';
import { createSession } from './create-session.ts';

interface OpenSessionProps {
  readonly words: string;
  readonly setWords: (words: string) => void;
  readonly open: (session: string) => void;
}

export function OpenSession({ words, setWords, open }: OpenSessionProps): ReactElement {
  const id = useId();
  const [problem, setProblem] = useState<string>();
  const [isMaking, setIsMaking] = useState(false);

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const session = words.trim();
    if (!isSessionId(session)) {
      setProblem('An id has 1 to 128 letters, digits, - and _.');
      return;
    }
    setProblem(undefined);
    setWords('');
    open(session);
  };
  const make = (): void => {
    setIsMaking(true);
    setProblem(undefined);
    createSession()
      .then(open, (thrown: unknown) => setProblem(toFollowError(thrown).message))
      .finally(() => setIsMaking(false));
  };

  return (
    <div className="open-session">
      <form onSubmit={submit}>
        <label className="visually-hidden" htmlFor={id}>
          Find a session, or open one by its id
        </label>
        <input
          id={id}
          className="field"
          placeholder="Find, or open by id"
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
          maxLength={128}
          value={words}
          aria-invalid={problem !== undefined}
          aria-describedby={problem === undefined ? undefined : `${id}-problem`}
          onChange={(event) => {
            setProblem(undefined);
            setWords(event.target.value);
          }}
        />
        <button type="submit" className="button" disabled={words.trim() === ''}>
          Open
        </button>
      </form>
      <button type="button" className="button wide" aria-disabled={isMaking} onClick={isMaking ? undefined : make}>
        <Icon name="plus" />
        New session
      </button>
      {problem !== undefined && (
        <p className="problem" id={`${id}-problem`} role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}
