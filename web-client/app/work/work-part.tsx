/** The rail's part for the work: the newest turn's journal, and what others are told because of it. */
import type { ReactElement } from 'react';
import type { SessionSnapshot } from '../../src/session-view.ts';
import { DeliveryTable } from './delivery-table.tsx';
import { JournalTable } from './journal-table.tsx';
import { useWork } from './use-work.ts';

interface WorkPartProps {
  readonly session: string;
  readonly snapshot: SessionSnapshot;
  /** Nothing more will come. */
  readonly isOver: boolean;
  readonly pointAt: (sequence: number) => void;
}

/** Nothing where the session has neither. */
export function WorkPart({ session, snapshot, isOver, pointAt }: WorkPartProps): ReactElement | undefined {
  const { rows, deliveries } = useWork(session, snapshot);
  const { value: page, error } = deliveries;
  const hasDeliveries = page !== undefined && page.deliveries.length > 0;
  if (rows.length === 0 && !hasDeliveries && error === undefined) return undefined;
  return (
    <section className="work rail-part" aria-labelledby="work-title">
      <div className="section-head">
        <h2 className="section-title" id="work-title">
          Work
        </h2>
        {rows.length > 0 && <span className="section-note">the newest turn’s journal</span>}
      </div>
      {rows.length > 0 && <JournalTable rows={rows} isOver={isOver} pointAt={pointAt} />}
      {hasDeliveries && <DeliveryTable page={page} />}
      {error !== undefined && (
        <p className="problem" role="alert">
          The deliveries cannot be read: {error.message}
        </p>
      )}
    </section>
  );
}
