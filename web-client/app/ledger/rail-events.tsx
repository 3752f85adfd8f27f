/** The last events and, between them, what was lost and what repaired it. */
import { memo } from 'react';
import type { ReactElement } from 'react';
import type { SessionEvent } from '../../src/session-event.ts';
import { formatBytes, formatClockTime, formatInteger, formatRange, jsonBytes } from '../base/format.ts';
import { Icon } from '../base/icon.tsx';
import type { Mark, RepairedBy } from './marks.ts';
import type { RailRow } from './rail-rows.ts';

interface RailEventsProps {
  readonly rows: readonly RailRow[];
  readonly latest: readonly Mark[];
  readonly pointAt: (sequence: number) => void;
}

export function RailEvents({ rows, latest, pointAt }: RailEventsProps): ReactElement {
  return (
    <div className="rail-events rail-part">
      <div className="section-head">
        <h2 className="section-title">Last events</h2>
      </div>
      <ul className="rail-latest" aria-label="What happened last" aria-live="polite">
        {latest.map((mark) => (
          <li key={mark.key} className={`mark is-${mark.kind}`} data-latest={mark.kind}>
            <MarkLine mark={mark} />
          </li>
        ))}
      </ul>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- else nobody without a pointer could scroll it */}
      <section className="rail-scroll" tabIndex={0} aria-label="Last events, the newest first">
        {rows.length === 0 ? (
          <p className="hint">Events appear here as they come.</p>
        ) : (
          <table>
            <colgroup>
              <col className="column-sequence" />
              <col />
              <col className="column-bytes" />
              <col className="column-time" />
            </colgroup>
            <thead className="visually-hidden">
              <tr>
                <th scope="col">Sequence</th>
                <th scope="col">Type</th>
                <th scope="col">Size</th>
                <th scope="col">Time</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row) =>
                row.kind === 'event' ? (
                  <EventRow key={row.key} event={row.event} repairedBy={row.repairedBy} pointAt={pointAt} />
                ) : (
                  <MarkRow key={row.key} mark={row.mark} />
                ),
              )}
            </tbody>
          </table>
        )}
      </section>
    </div>
  );
}

interface EventRowProps {
  readonly event: SessionEvent;
  readonly repairedBy: RepairedBy | undefined;
  readonly pointAt: (sequence: number) => void;
}

const EventRow = memo(function EventRow({ event, repairedBy, pointAt }: EventRowProps): ReactElement {
  const { sequence, type, at, data } = event;
  return (
    <tr className={repairedBy === undefined ? 'event' : 'event is-repaired'} data-sequence={sequence}>
      <td className="event-sequence">
        <button type="button" aria-label={`Go to sequence ${sequence}`} onClick={() => pointAt(sequence)}>
          {formatInteger(sequence)}
        </button>
      </td>
      <td className="event-type" title={type}>
        {type}
      </td>
      <td className="event-bytes">{formatBytes(jsonBytes(data))}</td>
      <td className="event-time">{formatClockTime(at)}</td>
    </tr>
  );
});

const repairs: Readonly<Record<RepairedBy, string>> = {
  gap: 'by the next event',
  head: 'by the head check',
  reconnect: 'by a reconnect',
};

const MarkRow = memo(function MarkRow({ mark }: { readonly mark: Mark }): ReactElement {
  return (
    <tr
      className={`mark is-${mark.kind}`}
      data-mark={mark.kind}
      data-by={mark.kind === 'repaired' ? mark.by : undefined}
    >
      <td colSpan={4}>
        <MarkLine mark={mark} />
      </td>
    </tr>
  );
});

const MarkLine = ({ mark }: { readonly mark: Mark }): ReactElement => (
  <div className="mark-line">
    <Icon name={icons[mark.kind]} />
    <span>{toWords(mark)}</span>
    <time dateTime={mark.at}>{formatClockTime(mark.at)}</time>
  </div>
);

const icons = { lost: 'drop', repaired: 'check', rejoined: 'restart' } as const;

function toWords(mark: Mark): string {
  switch (mark.kind) {
    case 'lost':
      return `Lost ${formatRange(mark.first, mark.last)}`;
    case 'repaired':
      return `Repaired ${formatRange(mark.first, mark.last)} ${repairs[mark.by]}`;
    case 'rejoined':
      return 'Reconnected, nothing was missed';
  }
}
