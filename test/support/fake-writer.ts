/** A reader's connection without a socket: keeps what was written, and is full when the test says so. */
import { createParser } from 'eventsource-parser';
import { limits } from '../../src/base/limits.ts';
import type { Writer } from '../../src/sse/writer.ts';

export interface FakeFrame {
  readonly event: string | undefined;
  readonly id: string | undefined;
  readonly data: Record<string, unknown>;
}

export interface FakeWriter extends Writer {
  /** Everything that was written, in order. */
  readonly text: string;
  readonly frames: readonly FakeFrame[];
  /** The sequences of the event frames. */
  readonly sequences: readonly number[];
  /** The names of the control frames. */
  readonly controls: readonly string[];
  /** How often the kernel was handed something. */
  readonly flushes: number;
  readonly isEnded: boolean;
  readonly isClosed: boolean;
  /** The reader stops reading: what is written stays unsent. */
  stall(): void;
  /** The reader takes everything that is unsent, once, and stops again. */
  gulp(): void;
  /** The reader takes everything, and goes on reading. */
  drain(): void;
  /** The kernel takes some of what is unsent, which drains nothing yet. */
  take(bytes: number): void;
  /** The reader's connection breaks. */
  cut(): void;
}

/** As Node 20 has it. */
const MARK_BYTES = 16 * 1_024;

export function fakeWriter(): FakeWriter {
  const written: Buffer[] = [];
  const drained: (() => void)[] = [];
  const closed: (() => void)[] = [];
  let isReading = true;
  let isOpen = true;
  let isEnded = false;
  let unsent = 0;
  let total = 0;
  let corks = 0;
  let flushes = 0;

  /** Read when it is asked for: what was handed over must not change under a slow socket. */
  const text = (): string => Buffer.concat(written).toString();

  function parse(): FakeFrame[] {
    const frames: FakeFrame[] = [];
    const parser = createParser({
      onEvent: ({ event, id, data }) => frames.push({ event, id, data: JSON.parse(data) as Record<string, unknown> }),
    });
    parser.feed(text());
    return frames;
  }

  /** The kernel takes all of it; a socket says so later, never from within a write. */
  function flush(): void {
    const wasFull = unsent >= MARK_BYTES;
    flushes += 1;
    unsent = 0;
    if (isEnded) close();
    else if (wasFull) queueMicrotask(() => drained.forEach((listener) => listener()));
  }

  function close(): void {
    if (!isOpen) return;
    isOpen = false;
    unsent = 0;
    for (const listener of closed) listener();
  }

  return {
    get isWritable() {
      return isOpen && unsent < (corks > 0 ? limits.unsentBytes : MARK_BYTES);
    },
    get unsentBytes() {
      return unsent;
    },
    get sentBytes() {
      return total - unsent;
    },
    get text() {
      return text();
    },
    get frames() {
      return parse();
    },
    get sequences() {
      return [...text().matchAll(/(?<=\n\n)id: (\d+)\n/g)].map((match) => Number(match[1]));
    },
    get controls() {
      return parse().flatMap((frame) => frame.event ?? []);
    },
    get flushes() {
      return flushes;
    },
    get isEnded() {
      return isEnded;
    },
    get isClosed() {
      return !isOpen;
    },
    write(bytes) {
      if (!isOpen || isEnded) return;
      const buffer = typeof bytes === 'string' ? Buffer.from(bytes) : bytes;
      written.push(buffer);
      total += buffer.length;
      unsent += buffer.length;
      if (isReading && corks === 0) flush();
    },
    cork: () => void (corks += 1),
    uncork() {
      corks -= 1;
      if (isReading && corks === 0 && isOpen) flush();
    },
    end() {
      if (isEnded || !isOpen) return;
      isEnded = true;
      if (unsent === 0) close();
    },
    destroy: close,
    onDrain: (listener) => void drained.push(listener),
    onClose: (listener) => (isOpen ? void closed.push(listener) : queueMicrotask(listener)),
    stall: () => void (isReading = false),
    gulp: flush,
    drain() {
      isReading = true;
      flush();
    },
    take: (bytes) => void (unsent = Math.max(0, unsent - bytes)),
    cut: close,
  };
}
