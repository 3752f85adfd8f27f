/** One request over which batches go, and acknowledgements come back, for as long as it lasts. */
import { toError } from '../base/errors.ts';
import { lineLimits } from '../base/line-limits.ts';
import { createLineCutter } from '../event/line-cutter.ts';
import { parseRetryAfter } from './delivery.ts';
import type { DeliveryOptions } from './delivery.ts';
import type { Answer } from './verdict.ts';

export type StreamResult =
  | { readonly kind: 'stored'; readonly last: number }
  /** In order: what is not acknowledged by now is not under way any more. */
  | { readonly kind: 'ended'; readonly counter: number; readonly last: number }
  /** A problem, or whatever else answered. */
  | Answer
  /** Nothing came back in time: what lies between holds requests or answers back, or is no server. */
  | { readonly kind: 'silent' };

export interface EventStream {
  /** One batch at a time: event texts, each on one line, up to the counter `until`. After any result but `stored` it is over. */
  send(events: readonly string[], until: number, patienceMs: number): Promise<StreamResult>;
  /** Nothing more will be sent. */
  end(): void;
}

type Over = Exclude<StreamResult, { kind: 'stored' }>;

export function openEventStream(url: URL, options: DeliveryOptions): EventStream {
  const { clock, signal } = options;
  const encoder = new TextEncoder();
  const ending = new AbortController();
  const acknowledged = { counter: 0, last: 0 };
  let over: Over | undefined;
  let wake: (() => void) | undefined;
  let request: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      request = controller;
    },
    // The other side takes no more; what it has to say about that arrives as its answer.
    cancel: () => void (request = undefined),
  });

  function finish(result: Over): void {
    over ??= result;
    signal.removeEventListener('abort', onAbort);
    ending.abort();
    wake?.();
  }
  const onAbort = (): void => finish({ kind: 'lost', reason: 'aborted' });
  signal.addEventListener('abort', onAbort);

  async function read(): Promise<Over> {
    const init: RequestInit & { readonly duplex: 'half' } = {
      method: 'POST',
      headers: { authorization: `Bearer ${options.key}`, 'content-type': 'application/x-ndjson' },
      body,
      duplex: 'half',
      redirect: 'manual',
      signal: ending.signal,
    };
    const response = await options.fetch(url, init);
    if (response.status !== 200 || response.body === null) {
      const retryAfterMs = parseRetryAfter(response.headers.get('retry-after'), clock.wall());
      return { kind: 'answered', status: response.status, body: valueOf(await response.text()), retryAfterMs };
    }
    const cutter = createLineCutter(lineLimits.lineBytes);
    for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
      for (const { text } of cutter.cut(chunk)) {
        const last = take(valueOf(text));
        if (last !== undefined) return last;
      }
    }
    return { kind: 'lost', reason: 'the answer ended early' };
  }

  /** An acknowledgement, or else the last line. */
  function take(line: unknown): Over | undefined {
    const { counter, last, end, status, retryAfter } = fieldsOf(line);
    if (typeof end === 'string') return { kind: 'ended', ...acknowledged };
    if (typeof status === 'number') {
      // What a header would say is a field of the last line.
      const retryAfterMs = typeof retryAfter === 'number' ? retryAfter * 1_000 : 0;
      return { kind: 'answered', status, body: line, retryAfterMs };
    }
    if (!Number.isSafeInteger(counter) || !Number.isSafeInteger(last)) {
      return { kind: 'lost', reason: 'an answer that is none of this server’s' };
    }
    acknowledged.counter = Number(counter);
    acknowledged.last = Number(last);
    wake?.();
    return undefined;
  }

  let isReading = false;
  return {
    async send(events, until, patienceMs) {
      // Behind the first batch, for `fetch` sends the head of a request together with the beginning of its body.
      request?.enqueue(encoder.encode(events.map((event) => `${event}\n`).join('')));
      if (!isReading) {
        isReading = true;
        void read().then(finish, (thrown: unknown) => finish({ kind: 'lost', reason: reasonOf(toError(thrown)) }));
      }
      const timer = clock.after(patienceMs, () => finish({ kind: 'silent' }));
      while (over === undefined && acknowledged.counter < until) await new Promise<void>((heard) => (wake = heard));
      timer.cancel();
      if (acknowledged.counter >= until) return { kind: 'stored', last: acknowledged.last };
      return over ?? { kind: 'lost', reason: 'it is over' };
    },
    end() {
      signal.removeEventListener('abort', onAbort);
      request?.close();
      request = undefined;
      clock.after(options.timeoutMs, () => finish({ kind: 'silent' }));
    },
  };
}

/** `fetch failed` says nothing; its cause does. */
const reasonOf = (error: Error): string => toError(error.cause ?? error).message || error.message;

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? { ...value } : {};

function valueOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // cut on its way; whoever looks into it finds nothing
  }
}
