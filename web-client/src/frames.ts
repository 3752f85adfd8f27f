/** Turns the text of a stream, in whatever pieces it comes, into what its frames mean (pure). */
import { createParser } from 'eventsource-parser';
import type { EventSourceMessage } from 'eventsource-parser';
import { parseJson } from './parse-json.ts';
import type { Reset } from './recipient.ts';
import { isEvent } from './session-event.ts';
import type { SessionEvent } from './session-event.ts';

/** Each carries the cursor to resume with, as the server believes it to be. */
export type ControlFrame = { readonly cursor: number } & (
  | { readonly kind: 'hello' | 'connected' | 'sync'; readonly head: number }
  | { readonly kind: 'reset'; readonly head: number; readonly reason: Reset['reason'] }
  | { readonly kind: 'end'; readonly reason: 'closed' | 'deleted' }
  | { readonly kind: 'goaway' | 'denied' }
);

export type Arrival =
  | { readonly kind: 'event'; readonly event: SessionEvent }
  | ControlFrame
  /** No frame of Ledgerline's. Nothing that follows it can be relied on. */
  | { readonly kind: 'malformed' };

export interface FrameReader {
  /** A name that is not known is passed over: a later release may add some. */
  read(text: string): readonly Arrival[];
  /** The last wait that the server asked for. */
  readonly retryMs: number | undefined;
}

/** Those up to `reset` carry a head. */
const controlFrames: readonly string[] = ['hello', 'connected', 'sync', 'reset', 'end', 'goaway', 'denied'];

/**
 * The largest event is 1 MiB of UTF-8, whose every two bytes may stand on the wire as an escape of six characters. A
 * line without an end must not fill the memory.
 */
const MOST_BUFFERED_CHARACTERS = 4 * 1024 * 1024;

export function createFrameReader(): FrameReader {
  let arrivals: Arrival[] = [];
  let retryMs: number | undefined;
  const parser = createParser({
    maxBufferSize: MOST_BUFFERED_CHARACTERS,
    onRetry: (milliseconds) => (retryMs = milliseconds),
    onEvent(message) {
      const arrival = read(message);
      if (arrival !== undefined) arrivals.push(arrival);
    },
    onError({ type }) {
      if (type === 'max-buffer-size-exceeded') arrivals.push({ kind: 'malformed' });
    },
  });
  return {
    read(text) {
      arrivals = [];
      parser.feed(text);
      return arrivals;
    },
    get retryMs() {
      return retryMs;
    },
  };
}

function read({ event: name, id, data }: EventSourceMessage): Arrival | undefined {
  const cursor = Number(id);
  // As the server writes it, a canonical decimal; whatever else is no cursor.
  const isPlaced = isCount(cursor) && String(cursor) === id;
  const value = parseJson(data);
  if (name === undefined) {
    return isEvent(value) && isPlaced && value.sequence === cursor
      ? { kind: 'event', event: value }
      : { kind: 'malformed' };
  }
  const kind = controlFrames.indexOf(name);
  if (kind < 0) return undefined;
  const { head, reason } = Object(value) as { readonly head?: unknown; readonly reason?: unknown };
  if (!isPlaced || (kind < 4 && !isCount(head))) return { kind: 'malformed' };
  return { kind: name, cursor, head, reason } as Arrival;
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;
