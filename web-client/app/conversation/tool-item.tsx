/** A tool call: its name and arguments in one line, and all of it when opened. */
import type { ReactElement } from 'react';
import type { ToolItem as Tool } from '../../src/timeline-item.ts';
import { Icon } from '../base/icon.tsx';
import { Fold } from './fold.tsx';
import { JsonBlock } from './json-block.tsx';
import { MarkedText } from './marked-text.tsx';
import { toJsonLine } from './json-line.ts';
import { useMatches } from './use-matches.ts';
import { useReading } from './reading.ts';

const states = { running: 'Running', done: 'Done', failed: 'Failed', in_doubt: 'In doubt' } as const;

export function ToolItem({ item }: { readonly item: Tool }): ReactElement {
  const { isOver } = useReading();
  const isMatch = useMatches(item);
  const isUnanswered = item.state === 'running' && (isOver || item.isAbandoned);
  return (
    <div className={`card tool is-${item.state}`} data-state={item.state}>
      <Fold
        className="tool-fold"
        opensItself={isMatch || item.state === 'failed'}
        summary={
          <>
            <Icon name="tool" />
            <code className="fold-name">
              <MarkedText text={item.tool ?? 'a tool'} />
            </code>
            <code className="fold-line">{toJsonLine(item.args)}</code>
            <span className="tool-state">
              {item.state === 'done' && <Icon name="check" />}
              {item.state === 'failed' && <Icon name="alert" />}
              {isUnanswered ? 'No result' : states[item.state]}
            </span>
          </>
        }
      >
        {() => (
          <>
            <JsonBlock label="Arguments" value={item.args} />
            {item.state !== 'failed' && item.result !== undefined && <JsonBlock label="Result" value={item.result} />}
            {item.state === 'failed' && item.error !== undefined && <JsonBlock label="Error" value={item.error} />}
          </>
        )}
      </Fold>
    </div>
  );
}
