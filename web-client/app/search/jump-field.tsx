/** A field for the sequence to go to. */
import { useState } from 'react';
import type { FormEvent, ReactElement, RefObject } from 'react';
import { readSequence } from '../base/address.ts';

interface JumpFieldProps {
  readonly field: RefObject<HTMLInputElement | null>;
  readonly go: (sequence: number) => void;
}

export function JumpField({ field, go }: JumpFieldProps): ReactElement {
  const [text, setText] = useState('');
  const [isWrong, setIsWrong] = useState(false);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const sequence = readSequence(text);
    setIsWrong(sequence === undefined && text.trim() !== '');
    if (sequence === undefined) return;
    go(sequence);
    setText('');
    field.current?.blur();
  };
  return (
    <form className="jump" onSubmit={submit}>
      <div className="field-with-icon">
        <span className="field-sign" aria-hidden="true">
          #
        </span>
        <input
          ref={field}
          className="field"
          inputMode="numeric"
          aria-label="Go to sequence"
          aria-invalid={isWrong}
          title={isWrong ? 'A sequence is a whole number from 1' : 'Go to a sequence'}
          placeholder="Go to"
          autoComplete="off"
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setIsWrong(false);
          }}
          onKeyDown={(event) => {
            if (event.key === 'Escape') field.current?.blur();
          }}
        />
        <kbd aria-hidden="true">g</kbd>
      </div>
    </form>
  );
}
