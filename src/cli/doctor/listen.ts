/** One open stream as it arrives here: when its headers came, when each frame, how many bytes, and how it ended. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createUnzip } from 'node:zlib';
import { createParser } from 'eventsource-parser';
import { limits } from '../../base/limits.ts';
import { reasonOf, send } from './call.ts';
import type { Question, Wire } from './call.ts';

/** All times are milliseconds since the request. */
export interface Heard {
  /** `event` for what a producer wrote, else the frame's name. */
  readonly name: string;
  readonly id: string;
  readonly data: string;
  readonly atMs: number;
}

export interface Head {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly atMs: number;
}

export interface Listening {
  readonly head: Head | undefined;
  readonly frames: readonly Heard[];
  /** Of the body, as they came over the wire. */
  readonly bytes: number;
  readonly lastByteMs: number;
  readonly end: { readonly atMs: number; readonly why: string } | undefined;
  now(): number;
  first(name: string): Heard | undefined;
  /** False when it has not come true in time, or can no more. */
  until(condition: () => boolean, withinMs: number): Promise<boolean>;
  close(): void;
}

/** What readers offer; that the answer is not to be compressed all the same is part of the diagnosis. */
const offered = { accept: 'text/event-stream', 'accept-encoding': 'gzip, deflate, br', prefer: 'handling=strict' };

export function listen({ clock, stop }: Wire, question: Question): Listening {
  const beganMs = clock.now();
  const now = (): number => clock.now() - beganMs;
  const frames: Heard[] = [];
  const waiting = new Set<() => void>();
  let head: Head | undefined;
  let end: Listening['end'];
  let bytes = 0;
  let lastByteMs = 0;

  const changed = (): void => {
    for (const look of waiting) look();
  };
  const ended = (why: string): void => {
    end ??= { atMs: now(), why };
    changed();
  };
  const parser = createParser({
    maxBufferSize: limits.payloadBytes * 2,
    // It takes nothing more then, and throws at the next piece: what this is, is no stream of events.
    onError: ({ type }) => {
      if (type !== 'max-buffer-size-exceeded') return;
      outgoing.destroy();
      ended('a line without an end');
    },
    onEvent: ({ event = 'event', id = '', data }) => void frames.push({ name: event, id, data, atMs: now() }),
  });

  const outgoing = send({ ...question, headers: { ...offered, ...question.headers } });
  const hangUp = (): void => {
    outgoing.destroy();
    ended('closed here');
  };
  if (stop.aborted) hangUp();
  stop.addEventListener('abort', hangUp, { once: true });
  outgoing.on('error', (error) => ended(reasonOf(error)));
  outgoing.on('response', (response) => {
    head = { status: response.statusCode ?? 0, headers: response.headers, atMs: now() };
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      lastByteMs = now();
      changed();
    });
    response.on('error', (error) => ended(reasonOf(error)));
    response.on('end', () => ended('ended'));
    const body = decoded(response);
    body.on('error', (error) => ended(reasonOf(error)));
    const decoder = new TextDecoder();
    body.on('data', (chunk: Buffer) => {
      if (end === undefined) parser.feed(decoder.decode(chunk, { stream: true }));
      changed();
    });
    changed();
  });

  return {
    get head() {
      return head;
    },
    frames,
    get bytes() {
      return bytes;
    },
    get lastByteMs() {
      return lastByteMs;
    },
    get end() {
      return end;
    },
    now,
    first: (name) => frames.find((frame) => frame.name === name),
    until(condition, withinMs) {
      return new Promise((resolve) => {
        const settle = (value: boolean): void => {
          timer.cancel();
          waiting.delete(look);
          resolve(value);
        };
        const look = (): void => {
          if (condition()) settle(true);
          else if (end !== undefined) settle(false);
        };
        const timer = clock.after(withinMs, () => settle(condition()));
        waiting.add(look);
        look();
      });
    },
    close() {
      stop.removeEventListener('abort', hangUp);
      hangUp();
    },
  };
}

/** Piece by piece, as far as whoever compressed it has let go of it. */
function decoded(response: IncomingMessage): Readable {
  switch (response.headers['content-encoding'] ?? 'identity') {
    case 'gzip':
    case 'deflate':
      return response.pipe(createUnzip());
    case 'br':
      return response.pipe(createBrotliDecompress());
    default:
      return response;
  }
}
