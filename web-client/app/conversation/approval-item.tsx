/** An approval: what is asked for and why, and who decided. */
import type { ReactElement } from 'react';
import type { ApprovalItem as Approval } from '../../src/timeline-item.ts';
import { Icon } from '../base/icon.tsx';
import { ApprovalChoice } from './approval-choice.tsx';
import { JsonBlock } from './json-block.tsx';
import { MarkedText } from './marked-text.tsx';
import { useReading } from './reading.ts';

export function ApprovalItem({ item }: { readonly item: Approval }): ReactElement {
  const { isOver, decide } = useReading();
  const isVoid = item.decision === undefined && (isOver || item.isVoid === true);
  const tone = isVoid ? 'void' : toneOf(item.decision);
  return (
    <div className={`card approval is-${tone}`} data-decision={isVoid ? 'void' : (item.decision ?? 'open')}>
      <div className="approval-head">
        <Icon name="person" />
        <span className="approval-title">Approval</span>
        {item.tool !== undefined && (
          <code>
            <MarkedText text={item.tool} />
          </code>
        )}
        <span className="tool-state">
          {tone === 'granted' && <Icon name="check" />}
          {isVoid ? 'Nobody decided' : toStateWords(item)}
        </span>
      </div>
      {item.reason !== undefined && (
        <p className="approval-reason">
          <MarkedText text={item.reason} />
        </p>
      )}
      {item.args !== undefined && <Arguments value={item.args} />}
      {item.comment !== undefined && (
        <p className="approval-comment">
          <MarkedText text={item.comment} />
        </p>
      )}
      {tone === 'open' && decide !== undefined && <ApprovalChoice approval={item.approval} decide={decide} />}
    </div>
  );
}

const LINE_CHARACTERS = 140;

/** Whoever decides has to see them: in a line if they are short, else whole. */
function Arguments({ value }: { readonly value: unknown }): ReactElement {
  const line = JSON.stringify(value) ?? '';
  if (line.length > LINE_CHARACTERS) return <JsonBlock label="Arguments" value={value} />;
  return (
    <code className="approval-args">
      <MarkedText text={line} />
    </code>
  );
}

const toStateWords = ({ decision, by }: Approval): string =>
  decision === undefined ? 'Waits for a decision' : `${capital(decision)} by ${by ?? 'somebody'}`;

function toneOf(decision: string | undefined): 'open' | 'granted' | 'refused' {
  if (decision === undefined) return 'open';
  return decision.startsWith('approve') ? 'granted' : 'refused';
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
