/** Sends one request until its fate is known: the same bytes again after every failure that may pass. */
import { backoffMs } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import { toError } from '../base/errors.ts';
import { ownError } from './producer-error.ts';
import type { Answer, Verdict } from './verdict.ts';

export interface DeliveryOptions {
  readonly fetch: typeof fetch;
  readonly key: string;
  /** One try. */
  readonly timeoutMs: number;
  /** All tries of one request. */
  readonly giveUpMs: number;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly sleep: (delayMs: number, signal?: AbortSignal) => Promise<void>;
}

const retry = { firstMs: 100, capMs: 5_000 } as const;

export async function deliver<Value>(
  url: URL,
  body: string,
  judge: (answer: Answer, wasAmbiguous: boolean) => Verdict<Value>,
  options: DeliveryOptions,
): Promise<Value> {
  const { clock, signal } = options;
  const startedMs = clock.now();
  let wasAmbiguous = false;
  for (let attempt = 0; ; attempt += 1) {
    const verdict = judge(await post(url, body, options), wasAmbiguous);
    if (verdict.kind === 'done') return verdict.value;
    if (verdict.kind === 'refused') throw verdict.error;
    if (signal.aborted) throw aborted(signal);
    wasAmbiguous ||= verdict.isAmbiguous;
    // Never sooner than the server asked, and not all producers at the same moment.
    const delayMs = verdict.afterMs + backoffMs(retry, attempt, clock.random());
    if (clock.now() - startedMs + delayMs > options.giveUpMs) {
      const fields = { lastFailure: verdict.code, isAmbiguous: wasAmbiguous };
      throw ownError('gave_up', `no clear answer within ${options.giveUpMs} ms, at last ${verdict.code}`, fields);
    }
    await options.sleep(delayMs, signal);
    if (signal.aborted) throw aborted(signal);
  }
}

export const aborted = (signal: AbortSignal) => ownError('aborted', 'the producer was aborted', {}, signal.reason);

async function post(url: URL, body: string, options: DeliveryOptions): Promise<Answer> {
  const { clock, signal } = options;
  const controller = new AbortController();
  const stop = () => controller.abort();
  const timer = clock.after(options.timeoutMs, stop);
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop);
  try {
    const response = await options.fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${options.key}`, 'content-type': 'application/json' },
      body,
      // A redirect could turn the append into a GET somewhere else.
      redirect: 'manual',
      signal: controller.signal,
    });
    const retryAfterMs = parseRetryAfter(response.headers.get('retry-after'), clock.wall());
    return { kind: 'answered', status: response.status, body: parseJson(await response.text()), retryAfterMs };
  } catch (thrown) {
    return { kind: 'lost', reason: controller.signal.aborted ? 'timeout' : reasonOf(toError(thrown)) };
  } finally {
    timer.cancel();
    signal.removeEventListener('abort', stop);
  }
}

/** `fetch failed` says nothing; its cause does. */
const reasonOf = (error: Error): string => toError(error.cause ?? error).message || error.message;

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Whatever it was, it was not this server; the status decides.
    return undefined;
  }
}

/** Seconds, or a date [spec: RFC 9110, 10.2.3]; 0 for none and for what is neither. */
export function parseRetryAfter(value: string | null, wallMs: number): number {
  if (value === null) return 0;
  if (/^[0-9]{1,9}$/.test(value)) return Number(value) * 1_000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? 0 : Math.max(0, date - wallMs);
}
