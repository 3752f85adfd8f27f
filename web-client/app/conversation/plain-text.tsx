/** What somebody said, as it was said: line breaks kept, nothing interpreted. */
import { memo } from 'react';
import type { ReactElement } from 'react';
import { toChunks } from './chunks.ts';
import { MarkedText } from './marked-text.tsx';

interface PlainTextProps {
  readonly text: string;
  readonly isStreaming: boolean;
}

export function PlainText({ text, isStreaming }: PlainTextProps): ReactElement {
  const chunks = toChunks(text);
  return (
    <div className={isStreaming ? 'plain-text is-streaming' : 'plain-text'} data-text="">
      {chunks.map((chunk, index) => (
        // The blocks of a text stay in their places while it grows.
        <Chunk key={index} text={chunk} />
      ))}
    </div>
  );
}

const Chunk = memo(function Chunk({ text }: { readonly text: string }): ReactElement {
  return (
    <div className="chunk">
      <MarkedText text={text} />
    </div>
  );
});
