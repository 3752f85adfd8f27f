/** What the model thought: one line, open while it is being thought. */
import type { ReactElement } from 'react';
import type { ReasoningItem as Reasoning } from '../../src/timeline-item.ts';
import { Icon } from '../base/icon.tsx';
import { Fold } from './fold.tsx';
import { PlainText } from './plain-text.tsx';
import { useMatches } from './use-matches.ts';
import { useReading } from './reading.ts';

const LINE_CHARACTERS = 160;

export function ReasoningItem({ item }: { readonly item: Reasoning }): ReactElement {
  const { isOver } = useReading();
  const isMatch = useMatches(item);
  const isStreaming = !item.isComplete && !item.isAbandoned && !isOver;
  const firstLine = item.text.trimStart().slice(0, LINE_CHARACTERS).split('\n', 1)[0];
  return (
    <Fold
      className="reasoning"
      opensItself={isStreaming || isMatch}
      summary={
        <>
          <Icon name="thought" />
          <span className="fold-name">{isStreaming ? 'Thinking' : 'Thought'}</span>
          <span className="fold-line">{firstLine}</span>
        </>
      }
    >
      {() => <PlainText text={item.text} isStreaming={isStreaming} />}
    </Fold>
  );
}
