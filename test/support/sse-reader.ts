/** Reads a stream frame by frame, and keeps its bytes. */
import { createParser } from 'eventsource-parser';
import { eventually } from './waits.ts';

export interface Frame {
  /** `message` for an event. */
  readonly event: string;
  readonly id: string | undefined;
  readonly data: string;
}

export interface SseReader {
  readonly status: number;
  readonly headers: Headers;
  /** Without `sync`, which comes when its time has come, and that may be any moment. */
  readonly frames: readonly Frame[];
  readonly retries: readonly number[];
  /** All that came, as it came. */
  text(): string;
  /** The stream was ended by the server. */
  readonly isEnded: boolean;
  /** Waits until a frame of that name is there, and returns the first. */
  frame(event: string): Promise<Frame>;
  /** Waits for so many events. */
  events(count: number): Promise<readonly Frame[]>;
  ended(): Promise<void>;
  close(): Promise<void>;
}

export async function readStream(url: string, headers: Readonly<Record<string, string>>): Promise<SseReader> {
  const abort = new AbortController();
  const response = await fetch(url, { headers, signal: abort.signal });
  const frames: Frame[] = [];
  const retries: number[] = [];
  const chunks: Uint8Array[] = [];
  let isEnded = false;
  const parser = createParser({
    onEvent: ({ event = 'message', id, data }) => {
      if (event !== 'sync') frames.push({ event, id, data });
    },
    onRetry: (retry) => retries.push(retry),
  });
  const decoder = new TextDecoder();
  const reading = (async () => {
    try {
      for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
        chunks.push(chunk);
        parser.feed(decoder.decode(chunk, { stream: true }));
      }
      isEnded = true;
    } catch (error) {
      if (!abort.signal.aborted) throw error;
    }
  })();
  const messages = (): Frame[] => frames.filter(({ event }) => event === 'message');
  return {
    status: response.status,
    headers: response.headers,
    frames,
    retries,
    text: () => Buffer.concat(chunks).toString(),
    get isEnded() {
      return isEnded;
    },
    frame: (event) => eventually(`a frame ${event}`, () => frames.find((frame) => frame.event === event)),
    events: (count) => eventually(`${count} events`, () => messages().length >= count && messages()),
    async ended() {
      await eventually('the stream’s end', () => isEnded);
    },
    async close() {
      abort.abort();
      await reading;
    },
  };
}
