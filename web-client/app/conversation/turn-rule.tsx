/** The thin rules where a turn begins and where it ends. */
import type { ReactElement } from 'react';
import type { TurnError, TurnItem } from '../../src/timeline-item.ts';
import { shortId } from '../base/format.ts';
import { Icon } from '../base/icon.tsx';
import { MarkedText } from './marked-text.tsx';

/** Where a turn began says nothing of how it ended: its end does, further down. */
const begun = {
  running: 'running',
  waiting: 'waiting',
  completed: '',
  failed: '',
  cancelled: '',
  in_doubt: '',
} as const;

interface TurnRuleProps {
  readonly item: TurnItem;
  readonly isEnd: boolean;
}

export function TurnRule({ item, isEnd }: TurnRuleProps): ReactElement {
  const isOver = begun[item.state] === '';
  // Of a turn that began before the oldest event here there is its end alone.
  const isWhole = isEnd || (isOver && item.first === item.last);
  const state = isWhole ? item.state : begun[item.state];
  return (
    <div className={`turn is-${item.state}`} data-turn={item.turn} data-state={item.state}>
      <div className="turn-rule">
        <span className="turn-words">
          {item.turn === '' ? 'Taken back before any turn began' : <TurnName item={item} isWhole={isWhole} />}
        </span>
        {state !== '' && (
          <span className="turn-state">
            {isWhole && item.state === 'completed' && <Icon name="check" />}
            {(item.state === 'failed' || item.state === 'in_doubt') && <Icon name="alert" />}
            {state.replace('_', ' ')}
          </span>
        )}
      </div>
      {isWhole && item.error !== undefined && (
        <p className="turn-error">
          <MarkedText text={toErrorWords(item, item.error)} />
        </p>
      )}
    </div>
  );
}

function TurnName({ item, isWhole }: { readonly item: TurnItem; readonly isWhole: boolean }): ReactElement {
  return (
    <>
      {isWhole ? 'End of turn ' : 'Turn '}
      <code title={item.turn}>
        <MarkedText text={shortId(item.turn)} />
      </code>
      {toTryWords(item, isWhole)}
    </>
  );
}

/** What a turn in doubt waits for is no error of its agent's. */
const toErrorWords = ({ state }: TurnItem, { code, message }: TurnError): string =>
  state === 'in_doubt' ? message : `${code}: ${message}`;

/** The attempt is a number for machines where the server counts the tries. */
function toTryWords({ try: tries, attempt }: TurnItem, isWhole: boolean): string {
  if (tries !== undefined) return tries > 1 ? `, try ${tries}` : '';
  return attempt > 1 || !isWhole ? `, attempt ${attempt}` : '';
}
