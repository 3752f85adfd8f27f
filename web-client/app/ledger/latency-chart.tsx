/** The chart of append to screen: the last live events as dots, with what they amount to in numbers. */
import type { ReactElement } from 'react';
import type { SessionSnapshot } from '../../src/session-view.ts';
import { formatMilliseconds, plural } from '../base/format.ts';
import { MOST_SAMPLES, chartHeight, chartLinesMs, chartPath, summarize } from './latency.ts';
import type { LatencySummary } from './latency.ts';
import { useLatency } from './use-latency.ts';

const WIDTH = 300;
const HEIGHT = 60;

export function LatencyChart({ snapshot }: { readonly snapshot: SessionSnapshot }): ReactElement {
  const samplesMs = useLatency(snapshot);
  const summary = summarize(samplesMs);
  return (
    <section className="latency rail-part" aria-labelledby="latency-title">
      <div className="section-head">
        <h2 className="section-title" id="latency-title">
          Append to screen
        </h2>
        <dl className="latency-figures">
          {(['p50Ms', 'p99Ms', 'maxMs'] as const).map((name) => (
            <div key={name}>
              <dt>{name.slice(0, -2)}</dt>
              <dd>{summary === undefined ? '–' : formatMilliseconds(summary[name])}</dd>
            </div>
          ))}
        </dl>
      </div>
      <div className="chart">
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={toText(summary)}>
          {chartLinesMs.map((ms) => (
            <path key={ms} className="chart-line" d={`M0 ${toY(ms)}H${WIDTH}`} />
          ))}
          <path className="chart-dots" d={chartPath(samplesMs, WIDTH, HEIGHT)} />
        </svg>
        <div className="chart-scale" aria-hidden="true">
          {chartLinesMs.map((ms) => (
            <span key={ms} style={{ top: `${(1 - chartHeight(ms)) * 100}%` }}>
              {formatMilliseconds(ms)}
            </span>
          ))}
        </div>
      </div>
      <p className="hint">Last {MOST_SAMPLES} live events: Postgres’ clock to this browser’s.</p>
    </section>
  );
}

const toY = (ms: number): string => ((1 - chartHeight(ms)) * HEIGHT).toFixed(1);

function toText(summary: LatencySummary | undefined): string {
  if (summary === undefined) return 'No live event yet';
  const { count, p50Ms, p99Ms, maxMs } = summary;
  return `${plural(count, 'live event')}: half within ${formatMilliseconds(p50Ms)}, 99 of 100 within ${formatMilliseconds(p99Ms)}, the longest ${formatMilliseconds(maxMs)}`;
}
