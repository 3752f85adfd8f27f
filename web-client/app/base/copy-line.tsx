/** A command line to read and to copy. */
import { useState } from 'react';
import type { ReactElement } from 'react';
import { systemClock } from '../../src/clock.ts';
import { ScrollText } from './scroll-text.tsx';
import { Icon } from './icon.tsx';

const SHOWN_MS = 1_600;

export function CopyLine({ line }: { readonly line: string }): ReactElement {
  const [outcome, setOutcome] = useState<'copied' | 'refused'>();
  const show = (shown: 'copied' | 'refused'): void => {
    setOutcome(shown);
    systemClock.after(SHOWN_MS, () => setOutcome(undefined));
  };
  return (
    <div className="copy-line">
      <ScrollText>{line}</ScrollText>
      <button
        type="button"
        className="button quiet"
        onClick={() => {
          // Undefined where the page is not served over TLS or from this machine.
          const { clipboard } = navigator as { readonly clipboard?: Clipboard };
          if (clipboard === undefined) show('refused');
          else
            clipboard.writeText(line).then(
              () => show('copied'),
              () => show('refused'),
            );
        }}
      >
        <Icon name={outcome === 'copied' ? 'check' : 'copy'} />
        <span aria-live="polite">{words[outcome ?? 'idle']}</span>
      </button>
    </div>
  );
}

const words = { idle: 'Copy', copied: 'Copied', refused: 'Select it' } as const;
