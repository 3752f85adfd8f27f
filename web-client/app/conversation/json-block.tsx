/** A value as indented JSON; a large one shows its beginning first. */
import { useState } from 'react';
import type { ReactElement } from 'react';
import { formatBytes, formatJson } from '../base/format.ts';
import { ScrollText } from '../base/scroll-text.tsx';
import { MarkedText } from './marked-text.tsx';

const SHOWN_CHARACTERS = 20_000;

export function JsonBlock({ label, value }: { readonly label: string; readonly value: unknown }): ReactElement {
  const [isWhole, setIsWhole] = useState(false);
  const text = typeof value === 'string' ? value : formatJson(value);
  const isCut = !isWhole && text.length > SHOWN_CHARACTERS;
  return (
    <div className="json-block">
      <div className="json-label">{label}</div>
      <ScrollText>
        <MarkedText text={isCut ? text.slice(0, SHOWN_CHARACTERS) : text} />
      </ScrollText>
      {isCut && (
        <button type="button" className="button quiet" onClick={() => setIsWhole(true)}>
          Show all {formatBytes(text.length)}
        </button>
      )}
    </div>
  );
}
