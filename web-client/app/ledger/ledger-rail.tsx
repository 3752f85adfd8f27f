/** The right side: the three integers, the work, the last events with their marks, the trials, and the latency. */
import { useMemo } from 'react';
import type { ReactElement } from 'react';
import type { SessionFacts } from '../../src/session-server.ts';
import type { SessionSnapshot, SessionView } from '../../src/session-view.ts';
import type { Polled } from '../base/use-poll.ts';
import type { Situation } from '../lab/lab-faults.ts';
import { LabPanel } from '../lab/lab-panel.tsx';
import { hasLab } from '../lab/lab-client.ts';
import { WorkPart } from '../work/work-part.tsx';
import { toFigures } from './figures.ts';
import { FiguresView } from './figures-view.tsx';
import { LatencyChart } from './latency-chart.tsx';
import { RailEvents } from './rail-events.tsx';
import { toLatestMarks, toRailRows } from './rail-rows.ts';
import { useMarks } from './use-marks.ts';

interface LedgerRailProps {
  readonly session: string;
  readonly view: SessionView;
  readonly snapshot: SessionSnapshot;
  readonly facts: Polled<SessionFacts>;
  readonly standing: Situation['session'];
  readonly pointAt: (sequence: number) => void;
}

export function LedgerRail({ session, view, snapshot, facts, standing, pointAt }: LedgerRailProps): ReactElement {
  const marks = useMarks(session, snapshot);
  const { events, head, cursor, status } = snapshot;
  const rows = useMemo(() => toRailRows(events, marks), [events, marks]);
  const latest = useMemo(() => toLatestMarks(marks), [marks]);
  const figures = toFigures({ facts: facts.value, head, cursor: cursor === 'head' ? undefined : cursor });
  return (
    <aside className="ledger-rail" aria-label="Ledger">
      <FiguresView figures={figures} subscribers={facts.value?.room?.subscribers} isStale={facts.error !== undefined} />
      <WorkPart session={session} snapshot={snapshot} isOver={standing === 'over'} pointAt={pointAt} />
      <RailEvents rows={rows} latest={latest} pointAt={pointAt} />
      <LatencyChart snapshot={snapshot} />
      {hasLab() && (
        <LabPanel
          session={session}
          isLive={status.state === 'live'}
          standing={standing}
          sever={() => view.reconnect()}
        />
      )}
    </aside>
  );
}
