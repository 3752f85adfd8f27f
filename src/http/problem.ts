/** From an error to what a caller gets: a status, and a problem document [spec: RFC 9457]. */
import { LedgerlineError } from '../base/errors.ts';
import type { ErrorCode } from '../base/errors.ts';

interface Kind {
  readonly status: 400 | 401 | 403 | 404 | 405 | 409 | 410 | 413 | 415 | 429 | 500 | 503;
  readonly title: string;
}

/** `docs/PROTOCOL.md` describes each; a test holds the two and the union of codes equal. */
export const problemKinds: Readonly<Record<ErrorCode, Kind>> = {
  malformed: { status: 400, title: 'The request is malformed' },
  unauthorized: { status: 401, title: 'A valid credential is needed' },
  forbidden: { status: 403, title: 'The credential does not reach this far' },
  not_found: { status: 404, title: 'There is no such route' },
  method_not_allowed: { status: 405, title: 'The route does not take this method' },
  too_large: { status: 413, title: 'A limit on size was passed' },
  too_deep: { status: 413, title: 'The JSON is nested too deeply' },
  unsupported_media_type: { status: 415, title: 'The body is not JSON' },
  rate_limited: { status: 429, title: 'Too much was asked in too short a time' },
  session_unknown: { status: 404, title: 'There is no such session' },
  session_closed: { status: 409, title: 'The session is closed' },
  session_deleted: { status: 410, title: 'The session was deleted' },
  wrong_head: { status: 409, title: 'The head is elsewhere' },
  fenced: { status: 409, title: 'A newer attempt owns the turn' },
  request_conflict: { status: 409, title: 'The key is taken by another message' },
  turn_busy: { status: 409, title: 'A turn is under way' },
  turn_unknown: { status: 404, title: 'There is no such turn' },
  turn_over: { status: 409, title: 'The turn is not in a state for this' },
  step_conflict: { status: 409, title: 'The step is something else in the journal' },
  step_unknown: { status: 404, title: 'There is no such step' },
  step_settled: { status: 409, title: 'The step is not in doubt' },
  approval_unknown: { status: 404, title: 'There is no such question' },
  approval_decided: { status: 409, title: 'It was decided before' },
  approval_conflict: { status: 409, title: 'Another turn asked a question with this id' },
  session_busy: { status: 503, title: 'The session is locked by somebody else' },
  duplicate_append: { status: 409, title: 'The append is stored already' },
  producer_conflict: { status: 409, title: 'The counter is taken by other content' },
  producer_overlap: { status: 409, title: 'The append is stored in part' },
  unavailable: { status: 503, title: 'The ledger is out of reach' },
  append_unknown: { status: 503, title: 'The outcome of the append could not be learnt' },
  draining: { status: 503, title: 'This server is going away' },
  internal: { status: 500, title: 'A fault of this server' },
  configuration: { status: 500, title: 'The configuration is wrong' },
  schema_newer: { status: 500, title: 'The database belongs to a newer release' },
};

const RETRY_AFTER_SECONDS = 1;

export interface Problem {
  readonly status: Kind['status'];
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The error's fields stand at the top level, beside the members of the standard, which they cannot replace. */
export function problem(error: LedgerlineError, requestId?: string): Problem {
  const { status, title } = problemKinds[error.code];
  const isOurs = status === 500;
  const body = {
    ...error.fields,
    type: `urn:ledgerline:problem:${error.code}`,
    title,
    status,
    detail: isOurs ? 'The server failed; its log has the details under this instance.' : error.message,
    ...(isOurs && requestId !== undefined ? { instance: `urn:uuid:${requestId}` } : {}),
  };
  return {
    status,
    headers: {
      'Content-Type': 'application/problem+json',
      ...(status === 503 || status === 429 ? { 'Retry-After': String(retryAfterSeconds(error)) } : {}),
      ...(status === 401 ? { 'WWW-Authenticate': 'Bearer realm="ledgerline"' } : {}),
    },
    body: JSON.stringify(body),
  };
}

/** Where the error knows when to come back, it says so. */
const retryAfterSeconds = ({ fields }: LedgerlineError): number =>
  typeof fields['retryAfter'] === 'number' ? fields['retryAfter'] : RETRY_AFTER_SECONDS;

/** What may be told of a thrown value: a typed error as it is, of all else that it happened. */
export function told(thrown: unknown): LedgerlineError {
  if (thrown instanceof LedgerlineError) return thrown;
  return new LedgerlineError('internal', 'an unexpected error', {}, thrown);
}
