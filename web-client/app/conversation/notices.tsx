/** What was wrong with the stream and was healed: said once, until it is read. */
import { useState } from 'react';
import type { ReactElement } from 'react';
import type { Fault, Reset } from '../../src/recipient.ts';
import { formatInteger } from '../base/format.ts';
import { Icon } from '../base/icon.tsx';

interface NoticesProps {
  readonly fault: Fault | undefined;
  readonly reset: Reset | undefined;
}

export function Notices({ fault, reset }: NoticesProps): ReactElement {
  const [read, setRead] = useState<ReadonlySet<Fault | Reset>>(new Set());
  const notices = [
    ...(reset === undefined ? [] : [{ about: reset, words: resetWords[reset.reason](reset) }]),
    ...(fault === undefined ? [] : [{ about: fault, words: toFaultWords(fault) }]),
  ].filter(({ about }) => !read.has(about));
  return (
    <div className="notices" aria-live="polite">
      {notices.map(({ about, words }) => (
        <div key={words} className="notice">
          <Icon name="alert" />
          <span>{words}</span>
          <button
            type="button"
            className="button icon-only"
            aria-label="Put this notice away"
            onClick={() => setRead((before) => new Set(before).add(about))}
          >
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}

const resetWords: Readonly<Record<Reset['reason'], (reset: Reset) => string>> = {
  expired: ({ cursor }) => `Retention removed events in the meantime: it goes on after ${formatInteger(cursor)}.`,
  ahead: ({ head }) => `This browser knew more than Postgres, whose head is ${formatInteger(head)}: it was read again.`,
  restored: ({ head }) => `The database was restored to ${formatInteger(head)}: the session was read again.`,
  malformed: ({ cursor }) => `The cursor was not understood: it goes on after ${formatInteger(cursor)}.`,
};

function toFaultWords({ kind, expected, got }: Fault): string {
  if (kind === 'malformed' || got === undefined) {
    return `Something that is no event came after ${formatInteger(expected - 1)}: it was read again.`;
  }
  const what = kind === 'gap' ? 'a gap' : 'a repeat';
  return `The stream had ${what}: ${formatInteger(got)} came where ${formatInteger(expected)} had to. It was read again.`;
}
