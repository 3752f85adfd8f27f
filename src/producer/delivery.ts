/** Sends one request until its fate is known: the same bytes again after every failure that may pass. */
import { toError } from '../base/errors.ts';
import { createPatience } from './patience.ts';
import type { PatienceOptions } from './patience.ts';
import type { Answer, Verdict } from './verdict.ts';

export interface DeliveryOptions extends PatienceOptions {
  readonly fetch: typeof fetch;
  readonly key: string;
  /** One try. */
  readonly timeoutMs: number;
}

/** Without a body it is a question, and may be asked as often as it takes. */
export async function deliver<Value>(
  url: URL,
  body: string | undefined,
  judge: (answer: Answer, wasAmbiguous: boolean) => Verdict<Value>,
  options: DeliveryOptions,
): Promise<Value> {
  const again = createPatience(options);
  let wasAmbiguous = false;
  for (;;) {
    const verdict = judge(await ask(url, body, options), wasAmbiguous);
    if (verdict.kind === 'done') return verdict.value;
    if (verdict.kind === 'refused') throw verdict.error;
    wasAmbiguous ||= verdict.isAmbiguous;
    await again({ ...verdict, isAmbiguous: wasAmbiguous });
  }
}

async function ask(url: URL, body: string | undefined, options: DeliveryOptions): Promise<Answer> {
  const { clock, signal } = options;
  const controller = new AbortController();
  const stop = () => controller.abort();
  const timer = clock.after(options.timeoutMs, stop);
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop);
  try {
    const response = await options.fetch(url, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${options.key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body }),
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
