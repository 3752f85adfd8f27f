/** The one error class of this package. */

export type FollowErrorCode =
  /** The server refused, and asking again would not change it: see `problem` and `status`. */
  | 'refused'
  /** Something answered that is no Ledgerline: a login page, another service, a wrong address. */
  | 'not_ledgerline'
  /** A page of history could not be had now; asking again may help. */
  | 'unavailable'
  /** The token function failed: `cause` says how. Asking again may help. */
  | 'token'
  /** Code of this side threw, such as a callback that was given the events: see `cause`. */
  | 'failed'
  /** The caller's own abort. */
  | 'aborted';

export interface FollowErrorDetails {
  readonly status?: number | undefined;
  readonly problem?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly document?: Readonly<Record<string, unknown>> | undefined;
  readonly cause?: unknown;
}

export class FollowError extends Error {
  override name = 'FollowError';
  declare readonly code: FollowErrorCode;
  declare readonly status: number | undefined;
  /** The server's own code for it, such as `session_unknown`: docs/PROTOCOL.md lists them. */
  declare readonly problem: string | undefined;
  /** The least wait before asking again, if the server named one. */
  declare readonly retryAfterMs: number | undefined;
  /** The server's refusal as it came, with the fields that its problem has. */
  declare readonly document: Readonly<Record<string, unknown>> | undefined;

  constructor(code: FollowErrorCode, message: string, details?: FollowErrorDetails) {
    super(message);
    Object.assign(this, { code, ...details });
  }
}
