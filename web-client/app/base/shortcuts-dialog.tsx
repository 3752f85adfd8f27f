/** The list of shortcuts. */
import { useEffect, useRef } from 'react';
import type { ReactElement } from 'react';
import { Icon } from './icon.tsx';
import { shortcutWords } from './use-shortcuts.ts';

interface ShortcutsDialogProps {
  readonly isOpen: boolean;
  readonly close: () => void;
}

export function ShortcutsDialog({ isOpen, close }: ShortcutsDialogProps): ReactElement {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (isOpen) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen]);
  return (
    <dialog ref={dialog} className="shortcuts" aria-labelledby="shortcuts-title" onClose={close}>
      <div className="section-head">
        <h2 id="shortcuts-title">Keyboard shortcuts</h2>
        <button type="button" className="button icon-only" aria-label="Close" onClick={close}>
          <Icon name="close" />
        </button>
      </div>
      <dl>
        {shortcutWords.map(({ keys, does }) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </dialog>
  );
}
