/** A turn's journal, a row for each index: what it was, what came of it, and which attempt did it. */
import { memo } from 'react';
import type { ReactElement } from 'react';
import { formatInteger } from '../base/format.ts';
import { EffectBadge } from './effect-badge.tsx';
import { toStepWords } from './effect-words.ts';
import type { JournalRow } from './journal.ts';

interface JournalTableProps {
  readonly rows: readonly JournalRow[];
  readonly isOver: boolean;
  readonly pointAt: (sequence: number) => void;
}

export const JournalTable = memo(function JournalTable({ rows, isOver, pointAt }: JournalTableProps): ReactElement {
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- else nobody without a pointer could scroll it
    <section className="work-scroll" tabIndex={0} aria-label="The newest turn’s journal">
      <table>
        <colgroup>
          <col className="column-number" />
          <col />
          <col className="column-state" />
        </colgroup>
        <thead className="visually-hidden">
          <tr>
            <th scope="col">Step</th>
            <th scope="col">What</th>
            <th scope="col">State</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <StepRow key={row.index} row={row} isOver={isOver} pointAt={pointAt} />
          ))}
        </tbody>
      </table>
    </section>
  );
});

interface StepRowProps {
  readonly row: JournalRow;
  readonly isOver: boolean;
  readonly pointAt: (sequence: number) => void;
}

const StepRow = memo(function StepRow({ row, isOver, pointAt }: StepRowProps): ReactElement {
  const { index, kind, name, effect, attempt, sequence } = row;
  const { tone, label, detail } = toStepWords(row, isOver);
  return (
    <tr className={`work-row is-${tone}`} data-step={index} data-state={row.state}>
      <td className="work-number">
        <button type="button" aria-label={`Go to step ${formatInteger(index)}`} onClick={() => pointAt(sequence)}>
          {formatInteger(index)}
        </button>
      </td>
      <td className="work-what">
        <div className="work-name">
          {kind === 'tool' ? <code>{name}</code> : <span>{kind === 'model' ? 'the model' : name}</span>}
          {effect !== undefined && <EffectBadge effect={effect} />}
        </div>
        {detail !== undefined && <div className="work-detail">{detail}</div>}
      </td>
      <td className="work-state">
        {attempt !== undefined && <span className="work-attempt">attempt {formatInteger(attempt)}</span>}
        <span className="work-label">{label}</span>
      </td>
    </tr>
  );
});
