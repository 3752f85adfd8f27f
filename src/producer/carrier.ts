/** Brings one batch after the other to the server: over a stream where one gets through, else in requests of their own. */
import type { Timer } from '../base/clock.ts';
import { producerLimits } from '../base/producer-limits.ts';
import { deliver } from './delivery.ts';
import type { DeliveryOptions } from './delivery.ts';
import { openEventStream } from './event-stream.ts';
import type { EventStream, StreamResult } from './event-stream.ts';
import { aborted, createPatience } from './patience.ts';
import { ProducerError, ownError } from './producer-error.ts';
import { isStreamless, judgeAppend, judgeCounter, judgeFailure } from './verdict.ts';
import type { Failed } from './verdict.ts';

export interface Carrier {
  /** Resolves when the events, the first of which has the counter `from`, are stored. One call at a time. */
  send(events: readonly string[], from: number): Promise<{ last: number }>;
  close(): void;
}

export interface CarrierOptions {
  readonly producer: string;
  readonly eventsUrl: URL;
  readonly counterUrl: URL;
  readonly delivery: DeliveryOptions;
}

/** A batch on its way. */
interface Progress {
  readonly first: number;
  readonly final: number;
  /** The last counter that is known to be stored, and the sequence of its event. */
  counter: number;
  last: number;
  /** More of it may be stored than is known. */
  isAmbiguous: boolean;
}

export function createCarrier({ producer, eventsUrl, counterUrl, delivery }: CarrierOptions): Carrier {
  const { clock, signal } = delivery;
  let canStream = true;
  /** A batch has been acknowledged over one: silence is now a fault that passes. */
  let isProven = false;
  let stream: EventStream | undefined;
  let idle: Timer | undefined;

  /** A stream without events ends by itself: a producer that is left alone keeps neither a connection nor its process. */
  function endStream(): void {
    idle?.cancel();
    stream?.end();
    stream = undefined;
  }

  async function overStream(events: readonly string[], { counter, final }: Progress): Promise<StreamResult> {
    idle?.cancel();
    if (stream === undefined) {
      const url = new URL(eventsUrl);
      url.search = new URLSearchParams({ producer, sequence: String(counter + 1) }).toString();
      stream = openEventStream(url, delivery);
    }
    const patienceMs = isProven ? delivery.timeoutMs : Math.min(producerLimits.streamProbeMs, delivery.timeoutMs);
    const result = await stream.send(events, final, patienceMs);
    if (result.kind === 'stored') {
      isProven = true;
      idle = clock.after(producerLimits.streamIdleMs, endStream);
    } else {
      stream = undefined;
    }
    return result;
  }

  /** All or nothing, and the same bytes again until it is clear which. */
  function inOneRequest(events: readonly string[], { counter, isAmbiguous }: Progress): Promise<{ last: number }> {
    const body = `{"producer":{"id":"${producer}","sequence":${counter + 1}},"events":[${events.join(',')}]}`;
    return deliver(
      eventsUrl,
      body,
      (answer, wasAmbiguous) => judgeAppend(answer, events.length, wasAmbiguous || isAmbiguous),
      delivery,
    );
  }

  /** How much of the batch is stored, by the server's own account. */
  async function ask(progress: Progress): Promise<void> {
    const stored = await deliver(counterUrl, undefined, judgeCounter, delivery);
    if (stored.counter > progress.final) {
      throw new ProducerError('producer_overlap', 'somebody else appends under this id', { counter: stored.counter });
    }
    if (stored.counter < progress.counter) {
      throw ownError('unexpected_answer', 'events that were acknowledged are not there any more', { ...stored });
    }
    progress.counter = stored.counter;
    if (stored.last !== null) progress.last = stored.last;
  }

  return {
    async send(events, from) {
      const progress: Progress = {
        first: from,
        final: from + events.length - 1,
        counter: from - 1,
        last: 0,
        isAmbiguous: false,
      };
      const again = createPatience(delivery);
      while (progress.counter < progress.final) {
        const rest = events.slice(progress.counter - progress.first + 1);
        if (!canStream) {
          try {
            return await inOneRequest(rest, progress);
          } catch (thrown) {
            if (!isLatePart(thrown, progress)) throw thrown;
            // The stream that it gave up still had a part of it on its way.
            await again({ code: 'producer_overlap', isAmbiguous: true, afterMs: 0 });
            await ask(progress);
            continue;
          }
        }
        const result = await overStream(rest, progress);
        if (result.kind === 'stored') return { last: result.last };
        if (signal.aborted) throw aborted(signal);
        if (result.kind === 'ended') {
          // Its server goes away; another one takes the rest. What was acknowledged is all there is.
          if (result.counter > progress.counter)
            Object.assign(progress, { counter: result.counter, last: result.last });
          continue;
        }
        if (isStreamless(result) || (result.kind === 'silent' && !isProven)) canStream = false;
        const verdict = judgeStream(result, progress);
        if (verdict.kind === 'refused') throw verdict.error;
        progress.isAmbiguous ||= verdict.isAmbiguous;
        if (canStream) await again({ ...verdict, isAmbiguous: progress.isAmbiguous });
        if (progress.isAmbiguous) await ask(progress);
      }
      return { last: progress.last };
    },
    close: endStream,
  };
}

const isLatePart = (thrown: unknown, { isAmbiguous }: Pick<Progress, 'isAmbiguous'>): boolean =>
  isAmbiguous && thrown instanceof ProducerError && thrown.code === 'producer_overlap';

/** A stream that failed: go on behind what is stored, or give up for good. */
function judgeStream(
  result: Exclude<StreamResult, { kind: 'stored' | 'ended' }>,
  { isAmbiguous }: Pick<Progress, 'isAmbiguous'>,
): Failed {
  const again = (code: string, isNowAmbiguous: boolean): Failed => ({
    kind: 'again',
    code,
    isAmbiguous: isNowAmbiguous,
    afterMs: 0,
  });
  if (result.kind === 'silent') return again('timeout', true);
  if (result.kind === 'lost') return again(result.reason, true);
  if (isStreamless(result)) return again('unsupported_media_type', false);
  const verdict = judgeFailure(result.status, result.body, result.retryAfterMs);
  // A request that was lost may still have arrived behind the question for the counter; else it is somebody else's [I8].
  const isOwnRepeat =
    verdict.kind === 'refused' && ['duplicate_append', 'producer_overlap'].includes(verdict.error.code) && isAmbiguous;
  // Batches before it, or the first part of it, may be stored without having been acknowledged here.
  return isOwnRepeat
    ? again(verdict.error.code, true)
    : verdict.kind === 'again'
      ? { ...verdict, isAmbiguous: true }
      : verdict;
}
