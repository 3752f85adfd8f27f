/** Where a person writes to the agent, whatever it does meanwhile. */
import { useId, useState } from 'react';
import type { KeyboardEvent, ReactElement, RefObject } from 'react';
import { formatBytes, jsonBytes } from '../base/format.ts';
import { Icon } from '../base/icon.tsx';
import { BusyChoice } from './busy-choice.tsx';
import type { OnBusy } from './busy-choice.tsx';
import { useDraft } from './draft.ts';

interface ComposerProps {
  readonly session: string;
  readonly field: RefObject<HTMLTextAreaElement | null>;
  readonly isBusy: boolean;
  readonly send: (content: string, onBusy: OnBusy) => void;
}

/** As the server takes it, written as JSON. */
const MOST_BYTES = 48 * 1_024;
const MOST_ROWS = 9;

export function Composer({ session, field, isBusy, send }: ComposerProps): ReactElement {
  const id = useId();
  const [text, setText] = useDraft(session);
  const [onBusy, setOnBusy] = useState<OnBusy>('enqueue');
  const content = text.trim();
  const bytes = jsonBytes(content);
  const isTooLong = bytes > MOST_BYTES;
  const canSend = content !== '' && !isTooLong;

  const submit = (): void => {
    if (!canSend) return;
    send(content, isBusy ? onBusy : 'enqueue');
    setText('');
    // What interrupts is chosen each time.
    setOnBusy('enqueue');
    field.current?.focus();
  };
  const pressed = (event: KeyboardEvent): void => {
    if (event.key === 'Escape') field.current?.blur();
    if (event.key !== 'Enter' || event.shiftKey || isComposing(event)) return;
    event.preventDefault();
    submit();
  };

  return (
    <form
      className="composer"
      aria-label="Message to the agent"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <textarea
        ref={field}
        className="composer-text"
        aria-label="Message"
        aria-describedby={`${id}-note`}
        aria-invalid={isTooLong}
        aria-keyshortcuts="m"
        placeholder="Write to the agent"
        rows={Math.min(MOST_ROWS, text.split('\n').length)}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={pressed}
      />
      <div className="composer-foot">
        {isBusy && <BusyChoice onBusy={onBusy} choose={setOnBusy} />}
        <span className={isTooLong ? 'composer-note problem' : 'composer-note'} id={`${id}-note`}>
          {isTooLong ? toTooLong(bytes) : 'Shift+Enter breaks the line'}
        </span>
        <button type="submit" className="button primary send" disabled={!canSend}>
          <Icon name="send" />
          Send
        </button>
      </div>
    </form>
  );
}

/** Enter also ends what an input method composes, which Safari tells by the code of the key alone. */
const isComposing = ({ nativeEvent, keyCode }: KeyboardEvent): boolean => nativeEvent.isComposing || keyCode === 229;

const toTooLong = (bytes: number): string =>
  `Too long by ${formatBytes(bytes - MOST_BYTES)}: at most ${formatBytes(MOST_BYTES)}`;
