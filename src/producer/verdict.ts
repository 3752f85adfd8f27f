/** What an answer means for the batch that was sent (pure): stored, send the same again, or refused for good. */
import { ProducerError, ownError } from './producer-error.ts';

/** What came back. `lost` is every case in which the server may or may not have got the request. */
export type Answer =
  | { readonly kind: 'answered'; readonly status: number; readonly body: unknown; readonly retryAfterMs?: number }
  | { readonly kind: 'lost'; readonly reason: string };

export interface Range {
  readonly first: number;
  readonly last: number;
}

export type Verdict<Value> =
  | { readonly kind: 'done'; readonly value: Value }
  /** `isAmbiguous`: this try may have stored the batch all the same. */
  | { readonly kind: 'again'; readonly code: string; readonly isAmbiguous: boolean; readonly afterMs: number }
  | { readonly kind: 'refused'; readonly error: ProducerError };

/**
 * Judges the answer to a batch of `count` events. A duplicate is success only after an ambiguous failure of this same
 * batch; otherwise somebody else appends with this producer's id, and calling it success would hide him [I8].
 */
export function judgeAppend(answer: Answer, count: number, wasAmbiguous: boolean): Verdict<Range> {
  if (answer.kind === 'lost') return { kind: 'again', code: answer.reason, isAmbiguous: true, afterMs: 0 };
  const problem = fieldsOf(answer.body);
  const range = rangeOf(problem, count);
  if (answer.status === 201) {
    // Cut or mangled on its way; the repeat is answered as a duplicate, which carries the range again.
    if (range === undefined) return { kind: 'again', code: 'unexpected_answer', isAmbiguous: true, afterMs: 0 };
    return { kind: 'done', value: range };
  }
  const isOwnDuplicate = problem['code'] === 'duplicate_append' && wasAmbiguous && range !== undefined;
  return isOwnDuplicate
    ? { kind: 'done', value: range }
    : judgeFailure(answer.status, answer.body, answer.retryAfterMs);
}

/** The same for the request that creates the session, which may be there already. */
export function judgeCreate(answer: Answer): Verdict<undefined> {
  if (answer.kind === 'lost') return { kind: 'again', code: answer.reason, isAmbiguous: false, afterMs: 0 };
  if (answer.status === 200 || answer.status === 201) return { kind: 'done', value: undefined };
  return judgeFailure(answer.status, answer.body, answer.retryAfterMs);
}

/** How far a producer has come. */
export interface Counted {
  readonly counter: number;
  /** The sequence of its last event. */
  readonly last: number | null;
}

/** The same for the question how far the producer has come. */
export function judgeCounter(answer: Answer): Verdict<Counted> {
  if (answer.kind === 'lost') return { kind: 'again', code: answer.reason, isAmbiguous: false, afterMs: 0 };
  if (answer.status !== 200) return judgeFailure(answer.status, answer.body, answer.retryAfterMs);
  const { counter, last } = fieldsOf(answer.body);
  // Cut or mangled on its way.
  if (!Number.isSafeInteger(counter)) {
    return { kind: 'again', code: 'unexpected_answer', isAmbiguous: false, afterMs: 0 };
  }
  return { kind: 'done', value: { counter: Number(counter), last: Number.isSafeInteger(last) ? Number(last) : null } };
}

/** A server of an earlier release, or a proxy that takes no body without its length [spec: RFC 9110, 15.5.12]. */
export const isStreamless = (result: { readonly kind: string; readonly status?: number }): boolean =>
  result.kind === 'answered' && [411, 415, 501].includes(result.status ?? 0);

type Fields = Readonly<Record<string, unknown>>;

export type Failed = Exclude<Verdict<never>, { kind: 'done' }>;

/** Of whatever is no success. */
export function judgeFailure(status: number, body: unknown, afterMs = 0): Failed {
  const { code: named, ...fields } = fieldsOf(body);
  const code = typeof named === 'string' ? named : 'unexpected_answer';
  // A 5xx may come from a proxy that lost the answer, so each counts as ambiguous.
  if (status >= 500 || status === 408) return { kind: 'again', code, isAmbiguous: true, afterMs };
  // A 409 without its code was cut on its way, and may be the duplicate that tells where the batch is.
  const hasStoredNothing = status === 429 || code === 'session_busy' || (status === 409 && named === undefined);
  if (hasStoredNothing) return { kind: 'again', code, isAmbiguous: false, afterMs };
  const detail = typeof fields['detail'] === 'string' ? fields['detail'] : 'no reason given';
  return { kind: 'refused', error: refusal(code, status, detail, fields) };
}

function refusal(code: string, status: number, detail: string, fields: Fields): ProducerError {
  if (code === 'unexpected_answer')
    return ownError(code, `the server answered ${status}: ${detail}`, { ...fields, status });
  return new ProducerError(code, detail, { ...fields, status });
}

/** A problem's fields; its code is the last word of its type [spec: RFC 9457, 3.1.1]. */
function fieldsOf(body: unknown): Fields {
  if (typeof body !== 'object' || body === null) return {};
  const fields: Fields = { ...body };
  const code = /^urn:ledgerline:problem:([a-z_]+)$/.exec(String(fields['type']))?.[1];
  return code === undefined ? fields : { ...fields, code };
}

/** The stored range, if the answer holds one and it is as long as the batch. */
function rangeOf({ first, last }: Fields, count: number): Range | undefined {
  if (!Number.isSafeInteger(first) || !Number.isSafeInteger(last)) return undefined;
  const range = { first: Number(first), last: Number(last) };
  return range.first >= 1 && range.last - range.first === count - 1 ? range : undefined;
}
