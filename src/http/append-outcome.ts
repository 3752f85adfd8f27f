/** What every outcome of an append means to whoever asked for it. */
import { LedgerlineError } from '../base/errors.ts';
import type { Outcome } from '../ledger/ledger.ts';
import { sessionDeleted, sessionUnknown } from './door.ts';

/** Every outcome but `appended` stored nothing. */
export function appendRefusal(outcome: Exclude<Outcome, { kind: 'appended' }>): LedgerlineError {
  switch (outcome.kind) {
    case 'duplicate':
      return stored('duplicate_append', 'the same events with the same counters are stored already', outcome);
    case 'conflict':
      return stored('producer_conflict', 'other events are stored under these counters', outcome);
    case 'overlap':
      return new LedgerlineError('producer_overlap', 'the first of these counters are stored already', {
        counter: outcome.counter,
      });
    case 'closed':
      return sessionClosed();
    case 'deleted':
      return sessionDeleted();
    case 'unknown_session':
      return sessionUnknown();
    case 'wrong_head':
      return new LedgerlineError('wrong_head', 'the head is not where it was expected', { head: outcome.head });
    case 'fenced':
      return new LedgerlineError(
        'fenced',
        'the turn belongs to a newer attempt, or to none any more: stop working at it',
      );
    case 'busy':
      return new LedgerlineError('session_busy', 'the session stayed locked; nothing was stored');
    case 'refused':
      return new LedgerlineError('malformed', `the database refused the events: ${outcome.reason}`, {
        where: 'events',
      });
  }
}

export const sessionClosed = (): LedgerlineError =>
  new LedgerlineError('session_closed', 'the session is closed and takes no more events');

const stored = (
  code: 'duplicate_append' | 'producer_conflict',
  message: string,
  { first, last }: { first: number; last: number },
): LedgerlineError => new LedgerlineError(code, message, { first, last });
