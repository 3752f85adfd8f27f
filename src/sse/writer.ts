/** One reader's connection: hands bytes to Node's response itself and shows how far the reader is behind. */
import { ServerResponse } from 'node:http';
import type { Http2ServerResponse } from 'node:http2';
import type { Socket } from 'node:net';
import { limits } from '../base/limits.ts';

export interface Writer {
  /**
   * Open, and little waits to be sent: less than the socket's own mark, so that frames do not queue up one by one for a reader that does
   * not read; between cork and uncork, where all that is at hand leaves as one, less than `limits.unsentBytes`.
   */
  readonly isWritable: boolean;
  /** Handed over, but not yet taken by the kernel. */
  readonly unsentBytes: number;
  /** Grows as bytes leave: what the stall check watches. */
  readonly sentBytes: number;
  /** Makes the system call at once, unless corked; HTTP/2 makes it with its session's next. Never refuses, never throws; after the close it does nothing. Ask `isWritable` first. */
  write(bytes: Buffer | string): void;
  /** Between cork and uncork writes are collected; uncork makes the system call, at once. */
  cork(): void;
  uncork(): void;
  /** Sends what is pending, then ends. */
  end(): void;
  /** Ends now. */
  destroy(): void;
  /** After a refusal by `isWritable`: everything handed over has been sent. */
  onDrain(listener: () => void): void;
  /** Once, when the connection is gone, whoever ended it. */
  onClose(listener: () => void): void;
}

/** Of every stream, long or short. */
export const streamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  // `no-transform` keeps compressing intermediaries from holding events back, `X-Accel-Buffering` nginx.
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
} as const;

/** They belong to the connection or to a body of known length; HTTP/2 refuses most of them. */
const foreignHeaders = new Set(['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'content-encoding']);

/** The listener of an event that needs one, or Node throws; what it announces arrives as `close` as well. */
const ignore = (): void => undefined;

/** Begins a stream: 200, the stream's headers and the given ones, sent at once. */
export function openStream(response: ServerResponse | Http2ServerResponse, headers: Record<string, string>): Writer {
  const given = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  const sent = { ...Object.fromEntries(given.filter(([name]) => !foreignHeaders.has(name))), ...streamHeaders };
  response.on('error', ignore);
  response.req.on('error', ignore);
  const isOpen = !isGone(response);
  if (isOpen && response instanceof ServerResponse) beginHttp1(response, sent);
  else if (isOpen) (response as Http2ServerResponse).writeHead(200, sent);
  return new ResponseWriter(response, isOpen);
}

/** A reader that went away before: its close was announced already, and will not be again. */
export function isGone(response: ServerResponse | Http2ServerResponse): boolean {
  if (response instanceof ServerResponse) return response.destroyed || response.req.socket.destroyed;
  return response.stream.destroyed;
}

/**
 * Identity encoding, ended by the close of the connection: a chunk's framing costs as much as the write itself [bench],
 * and HTTP/1.0 (nginx's default upstream) has no chunks.
 */
function beginHttp1(response: ServerResponse, headers: Record<string, string>): void {
  response.useChunkedEncodingByDefault = false;
  response.shouldKeepAlive = false;
  response.writeHead(200, headers);
  response.flushHeaders();
  response.req.socket.setNoDelay(true);
}

class ResponseWriter implements Writer {
  // What every frame looks at comes first: it lies together, and is cold by the next frame where there are thousands of readers.
  #isOpen: boolean;
  #isEnded = false;
  #handedOver = 0;
  /**
   * The connection itself, once its turn has come and the head is out: nothing stands between the response and its socket then but
   * checks that a stream does not need, each on memory that only they touch [bench]. Undefined behind a pipelined request, whose answer
   * goes first, and over HTTP/2, where the response frames what it is given.
   */
  readonly #socket: Socket | undefined;
  readonly #response: ServerResponse | Http2ServerResponse;
  #sent = 0;
  /** Replaced, since an array that grows keeps space for seventeen, and a process has thousands of these. */
  #closeListeners: readonly (() => void)[] = [];

  constructor(response: ServerResponse | Http2ServerResponse, isOpen: boolean) {
    this.#response = response;
    this.#isOpen = isOpen;
    this.#socket = (isOpen && response instanceof ServerResponse && response.socket) || undefined;
    if (!isOpen) return;
    const closed = () => this.#close();
    response.on('close', closed);
    // Behind a pipelined request the response has no socket yet, and would not hear that the connection is gone.
    if (response instanceof ServerResponse && response.socket === null) response.req.socket.once('close', closed);
  }

  get isWritable(): boolean {
    if (!this.#isOpen) return false;
    const { writableLength, writableCorked, writableHighWaterMark } = this.#socket ?? this.#response;
    return writableLength < (writableCorked > 0 ? limits.unsentBytes : writableHighWaterMark);
  }

  get unsentBytes(): number {
    return this.#isOpen ? (this.#socket ?? this.#response).writableLength : 0;
  }

  /** Never goes back: what is unsent may hold bytes that are not ours, of the head, or of the answer in front of us. */
  get sentBytes(): number {
    this.#sent = Math.max(this.#sent, this.#handedOver - this.unsentBytes);
    return this.#sent;
  }

  write(bytes: Buffer | string): void {
    if (!this.#isOpen || this.#isEnded) return;
    // Text becomes bytes here: a corked socket sends buffers with one plain system call, a mixture with a slower one.
    const buffer = typeof bytes === 'string' ? Buffer.from(bytes) : bytes;
    const socket = this.#socket;
    // The reader ended its half, and Node ours: an error for a write that comes before the close would help nobody. Nor does it count: who
    // takes nothing any more would seem to, as long as there is news, and stay for ever.
    if (socket?.writable === false) return;
    this.#handedOver += buffer.length;
    if (socket === undefined) return this.#respond(buffer);
    socket.write(buffer);
  }

  cork(): void {
    if (this.#isOpen) this.#response.cork();
  }

  uncork(): void {
    if (this.#isOpen) this.#response.uncork();
  }

  end(): void {
    if (!this.#isOpen || this.#isEnded) return;
    this.#isEnded = true;
    this.#response.end();
  }

  destroy(): void {
    if (!this.#isOpen) return;
    // Behind a pipelined request it has no socket yet, and Node 24 does not destroy it when that comes: the reader would stand still.
    if (this.#response instanceof ServerResponse && this.#response.socket === null)
      this.#response.once('socket', (socket: Socket) => socket.destroy());
    this.#response.destroy();
    this.#close();
  }

  onDrain(listener: () => void): void {
    if (this.#socket !== undefined) return void this.#socket.on('drain', listener);
    this.#response.on('drain', () => {
      if (this.isWritable || !this.#isOpen) return listener();
      // Node 20 and 22 say so of what waited behind a pipelined answer while they still count it as unsent, and never again.
      process.nextTick(() => {
        if (this.isWritable) listener();
        else if (this.#isOpen && !this.#isEnded) (this.#response as ServerResponse).write('');
      });
    });
  }

  onClose(listener: () => void): void {
    if (this.#isOpen) this.#closeListeners = this.#closeListeners.concat(listener);
    else queueMicrotask(listener);
  }

  /** Uncorked, `write` waits for a tick: a walk over many readers would see no time pass, and make all its system calls behind itself. */
  #respond(buffer: Buffer): void {
    const response = this.#response as ServerResponse;
    response.cork();
    response.write(buffer);
    response.uncork();
  }

  #close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    for (const listener of this.#closeListeners) listener();
  }
}
