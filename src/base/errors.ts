/** The one error class of the house, with its closed union of codes. */

/**
 * Every code that a caller can meet. `http/problem` gives each its status and title, and
 * `docs/PROTOCOL.md` describes it; a test holds the three equal.
 */
export const errorCodes = [
  // the caller's request
  'malformed', // shape, grammar or JSON is wrong; `where` says at which place
  'unauthorized', // no credential, or one that does not verify
  'forbidden', // a credential that does not reach this far
  'not_found', // no such route
  'method_not_allowed',
  'too_large', // a limit on size was passed; `limit` names it
  'too_deep', // JSON nested deeper than the limit
  'unsupported_media_type',
  'rate_limited', // the token or the session asks too much; `limit` names which limit, `retryAfter` says when to come back
  // the session's state
  'session_unknown', // also what a forbidden session answers, so that ids cannot be probed
  'session_closed',
  'session_deleted',
  'wrong_head', // `head` is the ledger's
  'fenced', // the turn belongs to a newer attempt, or to none any more
  'request_conflict', // a message's key is taken by other content; `sequence` says where
  'turn_busy', // a turn is under way
  'turn_unknown',
  'turn_over', // the turn is not in a state for this; `turnStatus` says in which
  'step_conflict', // another intent is in the journal at this index
  'step_unknown',
  'step_settled', // it is not in doubt
  'approval_unknown',
  'approval_decided', // somebody was first; `decision`, `by` and `sequence` say what
  'approval_conflict', // the question's id was used by another turn
  'session_busy', // its head stayed locked by somebody else; nothing was stored
  // the producer's counter
  'duplicate_append', // stored already, same content; `first` and `last` say where
  'producer_conflict', // stored already, other content
  'producer_overlap', // stored in part; `counter` is the producer's last stored one
  // this server
  'unavailable', // Postgres is away or too slow; nothing was stored
  'append_unknown', // the connection was lost around the commit and the outcome could not be learnt
  'draining', // this server is going away
  'internal', // a fault of ours; the answer carries a correlation id and nothing else
  // start-up and the command line
  'configuration',
  'schema_newer', // the database was migrated by a newer release
] as const;

export type ErrorCode = (typeof errorCodes)[number];

/** What goes beside the code, at the top level of a problem: plain values that are safe to show to the caller. */
export type ErrorFields = Readonly<Record<string, string | number | boolean | null>>;

/** Thrown for whatever may happen. `message` is written for the caller; put nothing secret in it. */
export class LedgerlineError extends Error {
  override name = 'LedgerlineError';
  readonly code: ErrorCode;
  readonly fields: ErrorFields;

  constructor(code: ErrorCode, message: string, fields: ErrorFields = {}, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.fields = fields;
  }
}

/** The error behind a thrown value, whatever it was. */
export function toError(thrown: unknown): Error {
  try {
    return thrown instanceof Error ? thrown : new Error(String(thrown));
  } catch {
    // A text of it cannot be made: an object without a prototype, a proxy that throws.
    return new Error(`something that has no text was thrown (${typeof thrown})`);
  }
}
