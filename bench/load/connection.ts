/** A connection that is kept and carries one request at a time, with next to no CPU of its own: what is measured is the server. */
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import type { HttpRequest } from '../peers/peer.ts';
import { requestText } from './request-text.ts';

export interface HttpAnswer {
  readonly status: number;
  readonly body: string;
}

export class Connection {
  readonly #socket: Socket;
  #heard = '';
  #asked = '';
  #waiting: { resolve: (answer: HttpAnswer) => void; reject: (error: Error) => void } | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (bytes) => this.#hear(bytes));
    socket.on('error', (error) => this.#waiting?.reject(error));
    socket.on('close', () => this.#waiting?.reject(new Error(`the server closed the connection: ${this.#asked}`)));
  }

  static open(port: number): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('error', reject).once('connect', () => resolve(new Connection(socket)));
    });
  }

  ask(request: HttpRequest): Promise<HttpAnswer> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#asked = `${request.method} ${request.path}`;
      this.#socket.write(requestText(request));
    });
  }

  /** Rejects what is not an answer of success. */
  async do(request: HttpRequest): Promise<HttpAnswer> {
    const answer = await this.ask(request);
    if (answer.status < 200 || answer.status >= 300) {
      throw new Error(`${request.method} ${request.path} answered ${answer.status}: ${answer.body}`);
    }
    return answer;
  }

  close(): void {
    this.#waiting = undefined;
    this.#socket.destroy();
  }

  #hear(bytes: Buffer): void {
    this.#heard += bytes.toString('latin1');
    const answer = parseAnswer(this.#heard);
    if (answer === undefined) return;
    this.#heard = '';
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.resolve(answer);
  }
}

/** Undefined until all of it is there. Lengths and chunks, which is what the servers here answer with. */
export function parseAnswer(text: string): HttpAnswer | undefined {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [head, body] = [text.slice(0, end).toLowerCase(), text.slice(end + 4)];
  const status = Number(head.slice(9, 12));
  if (status === 204) return { status, body: '' };
  const length = /\r\ncontent-length: *(\d+)/.exec(head)?.[1];
  const isChunked = head.includes('\r\ntransfer-encoding: chunked');
  const isWhole =
    length === undefined ? isChunked && `\r\n${body}`.endsWith('\r\n0\r\n\r\n') : body.length >= Number(length);
  return isWhole ? { status, body } : undefined;
}
