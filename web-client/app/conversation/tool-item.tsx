/** A tool call: its name and arguments in one line, what the journal says of it below, and all of it when opened. */
import type { ReactElement } from 'react';
import type { ToolItem as Tool } from '../../src/timeline-item.ts';
import { Icon } from '../base/icon.tsx';
import { Fold } from './fold.tsx';
import { JsonBlock } from './json-block.tsx';
import { ToolDoubt } from './tool-doubt.tsx';
import { ToolFacts } from './tool-facts.tsx';
import { hasFacts, hasResult, isUndone, toToolWords } from './tool-words.ts';
import { MarkedText } from './marked-text.tsx';
import { toJsonLine } from './json-line.ts';
import { useMatches } from './use-matches.ts';
import { useReading } from './reading.ts';

export function ToolItem({ item }: { readonly item: Tool }): ReactElement {
  const { isOver } = useReading();
  const isMatch = useMatches(item);
  const hasFailed = item.state === 'failed' && !isUndone(item);
  return (
    <div className={`card tool is-${isUndone(item) ? 'undone' : item.state}`} data-state={item.state}>
      <Fold
        className="tool-fold"
        opensItself={isMatch || hasFailed}
        summary={
          <>
            <Icon name="tool" />
            <code className="fold-name">
              <MarkedText text={item.tool ?? 'a tool'} />
            </code>
            <code className="fold-line">{toJsonLine(item.args)}</code>
            <span className="tool-state">
              {item.state === 'done' && <Icon name="check" />}
              {(hasFailed || item.state === 'in_doubt') && <Icon name="alert" />}
              {toToolWords(item, isOver || item.isAbandoned)}
            </span>
          </>
        }
      >
        {() => (
          <>
            <JsonBlock label="Arguments" value={item.args} />
            {hasResult(item) && <JsonBlock label="Result" value={item.result} />}
            {item.state === 'failed' && item.error !== undefined && <JsonBlock label="Error" value={item.error} />}
          </>
        )}
      </Fold>
      {hasFacts(item) && <ToolFacts item={item} />}
      {item.state === 'in_doubt' && <ToolDoubt item={item} />}
    </div>
  );
}
