/** The line of events that wait, and the only one who sends: a batch at a time, in the order taken, until something refuses. */
import type { Clock } from '../base/clock.ts';
import { toError } from '../base/errors.ts';
import { batchLength, leavesInMs } from '../session/batch.ts';
import type { Waiting } from '../session/batch.ts';
import { aborted } from './patience.ts';
import { ProducerError, ownError } from './producer-error.ts';

export interface SenderOptions {
  readonly clock: Clock;
  readonly sleep: (delayMs: number, signal?: AbortSignal) => Promise<void>;
  readonly signal: AbortSignal;
  readonly bufferBytes: number;
  /** Before the first batch. */
  readonly prepare: () => Promise<void>;
  /** Resolves when the batch is stored. `offset` events were stored before it. */
  readonly send: (events: readonly string[], offset: number) => Promise<{ last: number }>;
  readonly onFailure: (error: ProducerError) => void;
}

export interface Sender {
  readonly storedCount: number;
  /** Resolves when there is room for more. Throws if the sender has failed, or nobody ever waited for room. */
  take(text: string, mayWait: boolean): Promise<void>;
  flush(): Promise<{ last: number }>;
}

interface Taken extends Waiting {
  readonly text: string;
}

interface Waiter<Value> {
  readonly resolve: (value: Value) => void;
  readonly reject: (error: ProducerError) => void;
}

/** How far beyond the buffer somebody gets who does not await. */
const OVERRUN = 4;

export function createSender(options: SenderOptions): Sender {
  const { clock, signal, bufferBytes } = options;
  const waiting: Taken[] = [];
  let flushes: (Waiter<{ last: number }> & { readonly taken: number })[] = [];
  let room: (Waiter<void> & { readonly promise: Promise<void> }) | undefined;
  let nap: AbortController | undefined;
  let failure: ProducerError | undefined;
  let isPrepared = false;
  let isRunning = false;
  let unstoredBytes = 0;
  let takenCount = 0;
  let storedCount = 0;
  let last = 0;

  async function run(): Promise<void> {
    try {
      if (!isPrepared) await options.prepare();
      isPrepared = true;
      while (waiting.length > 0) {
        await due();
        const batch = waiting.splice(0, batchLength(waiting));
        ({ last } = await options.send(
          batch.map((event) => event.text),
          storedCount,
        ));
        stored(batch);
      }
    } catch (thrown) {
      fail(
        thrown instanceof ProducerError ? thrown : ownError('unexpected_answer', toError(thrown).message, {}, thrown),
      );
    } finally {
      isRunning = false;
    }
  }

  /** Waits until the batch should leave; what makes it leave sooner ends the nap. */
  async function due(): Promise<void> {
    for (;;) {
      if (signal.aborted) throw aborted(signal);
      const delayMs = flushes.length > 0 ? 0 : leavesInMs(waiting, clock.now());
      if (delayMs === undefined || delayMs === 0) return;
      nap = new AbortController();
      await options.sleep(delayMs, nap.signal);
      nap = undefined;
    }
  }

  function stored(batch: readonly Taken[]): void {
    storedCount += batch.length;
    for (const event of batch) unstoredBytes -= event.bytes;
    if (unstoredBytes < bufferBytes) {
      room?.resolve();
      room = undefined;
    }
    for (const flush of flushes) if (flush.taken <= storedCount) flush.resolve({ last });
    flushes = flushes.filter((flush) => flush.taken > storedCount);
  }

  function fail(error: ProducerError): void {
    failure = error;
    waiting.length = 0;
    room?.reject(error);
    for (const flush of flushes) flush.reject(error);
    flushes = [];
    options.onFailure(error);
  }

  function wake(): void {
    if (!isRunning) {
      isRunning = true;
      void run(); // its failures end in `fail`
    } else if (nap !== undefined && (flushes.length > 0 || leavesInMs(waiting, clock.now()) === 0)) {
      nap.abort();
    }
  }

  signal.addEventListener('abort', () => {
    // Whoever sends or naps meets the signal there.
    if (isRunning) nap?.abort();
    else if (failure === undefined) fail(aborted(signal));
  });

  return {
    get storedCount() {
      return storedCount;
    },
    take(text, mayWait) {
      if (failure !== undefined) throw failure;
      if (unstoredBytes >= OVERRUN * bufferBytes)
        throw ownError('buffer_full', 'await each append, so that the buffer can drain');
      const bytes = Buffer.byteLength(text);
      waiting.push({ text, bytes, isDelta: mayWait, sinceMs: clock.now() });
      takenCount += 1;
      unstoredBytes += bytes;
      wake();
      if (unstoredBytes < bufferBytes) return Promise.resolve();
      room ??= makeRoom();
      return room.promise;
    },
    flush() {
      if (failure !== undefined) return Promise.reject(failure);
      if (storedCount === takenCount) return Promise.resolve({ last });
      return new Promise((resolve, reject) => {
        flushes.push({ taken: takenCount, resolve, reject });
        wake();
      });
    },
  };
}

function makeRoom() {
  let resolve!: () => void;
  let reject!: (error: ProducerError) => void;
  const promise = new Promise<void>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  // Who does not await his appends learns of the failure by the next one, by `flush` or by `close`, not by a crash.
  promise.catch(() => undefined);
  return { promise, resolve, reject };
}
