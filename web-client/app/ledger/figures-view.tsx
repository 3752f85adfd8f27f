/** The three integers with their owners, and what lies between them. */
import type { ReactElement } from 'react';
import { formatInteger, plural } from '../base/format.ts';
import type { Figures } from './figures.ts';

interface FiguresViewProps {
  readonly figures: Figures;
  readonly subscribers: number | undefined;
  /** The gateway did not answer the last time it was asked. */
  readonly isStale: boolean;
}

export function FiguresView({ figures, subscribers, isStale }: FiguresViewProps): ReactElement {
  const { head, watermark, cursor, watermarkBehind, cursorBehind } = figures;
  return (
    <section className={isStale ? 'figures rail-part is-stale' : 'figures rail-part'} aria-label="Ledger">
      <dl className="figure-row">
        <Figure name="Head" owner="Postgres" value={head} of="head" behind={0} />
        <Figure
          name="Watermark"
          owner={subscribers === undefined ? 'room' : `room, ${plural(subscribers, 'reader')}`}
          value={watermark}
          of="watermark"
          behind={watermarkBehind}
        />
        <Figure name="Cursor" owner="this browser" value={cursor} of="cursor" behind={cursorBehind} />
      </dl>
      <div className="distance" aria-hidden="true">
        <span className={nodeClass(head, 0)} />
        <Stretch behind={watermarkBehind} isKnown={typeof head === 'number' && typeof watermark === 'number'} />
        <span className={nodeClass(watermark, watermarkBehind)} />
        <Stretch behind={cursorBehind} isKnown={typeof head === 'number' && typeof cursor === 'number'} />
        <span className={nodeClass(cursor, cursorBehind)} />
      </div>
    </section>
  );
}

function nodeClass(value: number | null | undefined, behind: number): string {
  if (value === null || value === undefined) return 'node is-absent';
  return behind > 0 ? 'node is-behind' : 'node';
}

interface FigureProps {
  readonly name: string;
  readonly owner: string;
  /** Null: there is no room. */
  readonly value: number | null | undefined;
  readonly of: 'head' | 'watermark' | 'cursor';
  readonly behind: number;
}

function Figure({ name, owner, value, of, behind }: FigureProps): ReactElement {
  return (
    <div className="figure" data-figure={of}>
      <dt>{name}</dt>
      <dd className="figure-value">{value === null || value === undefined ? '–' : formatInteger(value)}</dd>
      <dd className="figure-owner">
        {value === null ? 'no room' : owner}
        {behind > 0 && <span className="visually-hidden">, {formatInteger(behind)} behind</span>}
      </dd>
    </div>
  );
}

interface StretchProps {
  readonly behind: number;
  readonly isKnown: boolean;
}

function Stretch({ behind, isKnown }: StretchProps): ReactElement {
  const looks = behind > 0 ? 'is-behind' : isKnown ? 'is-level' : 'is-unknown';
  return (
    <span className={`stretch ${looks}`}>
      {behind > 0 && <span className="stretch-words">{formatInteger(behind)} behind</span>}
    </span>
  );
}
