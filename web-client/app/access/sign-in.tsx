/** Asks for a token, and says why the last one was not taken. */
import { useId, useState } from 'react';
import type { FormEvent, ReactElement } from 'react';
import { Mark } from '../sessions/mark.tsx';
import { cleanToken } from './token.ts';

interface SignInProps {
  /** Why it asks again. */
  readonly reason: string | undefined;
  readonly signIn: (token: string) => void;
}

export function SignIn({ reason, signIn }: SignInProps): ReactElement {
  const id = useId();
  const [text, setText] = useState('');
  const token = cleanToken(text);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (token !== '') signIn(token);
  };
  return (
    <main className="sign-in">
      <form onSubmit={submit}>
        <div className="brand">
          <Mark />
          Ledgerline
        </div>
        <h1>Sign in with a token</h1>
        {reason === undefined ? (
          <p>
            <code>npm start</code> prints an address with the token in it. For another server, make one with{' '}
            <code>ledgerline token</code>.
          </p>
        ) : (
          <p className="problem" role="alert">
            The token was refused: {reason}
          </p>
        )}
        <label htmlFor={id}>Token</label>
        <textarea
          id={id}
          className="field"
          rows={4}
          spellCheck={false}
          autoComplete="off"
          autoCapitalize="off"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <button type="submit" className="button primary wide" disabled={token === ''}>
          Sign in
        </button>
        <p className="hint">It is kept in this browser, for all of its tabs, until you sign out.</p>
      </form>
    </main>
  );
}
