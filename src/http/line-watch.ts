/** What an operator sees of an append that streams: that it is open, each batch that it stored, and its sum in the request's own line. */
import type { LedgerlineError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import type { NewEvent } from '../event/event.ts';
import type { Outcome } from '../ledger/ledger.ts';
import { bytesOf } from '../session/append.ts';
import type { AppContext } from './context.ts';

export interface LineWatch {
  stored(events: readonly NewEvent[], range: Extract<Outcome, { kind: 'appended' }>): void;
  /** `why` is the last line's word, or the problem that it tells. */
  ended(why: string | LedgerlineError): void;
}

export function watchLines(c: AppContext, session: string, metrics: Metrics, log: Log): LineWatch {
  const notes = c.get('notes');
  const { requestId, traceId } = notes;
  let first: number | undefined;
  let last = 0;
  let lines = 0;
  metrics.lineStreams.inc();
  return {
    stored(events, range) {
      first ??= range.first;
      last = range.last;
      lines += events.length;
      metrics.lines.inc(events.length);
      metrics.lineBytes.inc(bytesOf(events));
      const { transaction } = range;
      log.debug({ requestId, session, first: range.first, last, transaction, traceId }, 'appended');
    },
    ended(why) {
      metrics.lineStreams.dec();
      if (typeof why !== 'string') metrics.refusals.inc({ code: why.code });
      const end = typeof why === 'string' ? why : why.code;
      notes.facts = { end, lines, ...(first === undefined ? {} : { first, last }) };
    },
  };
}
