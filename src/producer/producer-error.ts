/** The one error of the producer library. */

/** Codes of the library itself; every other code is the server's, as it stands in its problem. */
export type OwnCode =
  | 'malformed' // an event type, a payload or an option that the server would refuse; nothing was taken
  | 'too_large' // one event beyond the server's limit; nothing was taken
  | 'too_deep' // one event nested deeper than the server takes; nothing was taken
  | 'buffer_full' // appended far beyond the buffer without awaiting; nothing was taken
  | 'ended' // appended after `close`
  | 'aborted' // the caller's signal
  | 'gave_up' // no clear answer within `giveUpMs`; `lastFailure` says what the last try met
  | 'unexpected_answer'; // not one of this server's answers: a proxy, or another program

export class ProducerError extends Error {
  override name = 'ProducerError';
  /** An {@link OwnCode}, or the server's: `session_closed`, `duplicate_append`, `forbidden` … */
  readonly code: string;
  /** What the server put beside the code, such as `first`, `last`, `index`, `limit`. */
  readonly fields: Readonly<Record<string, unknown>>;

  constructor(code: string, message: string, fields: Readonly<Record<string, unknown>> = {}, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.fields = fields;
  }
}

export const ownError = (
  code: OwnCode,
  message: string,
  fields?: Record<string, unknown>,
  cause?: unknown,
): ProducerError => new ProducerError(code, message, fields, cause);
