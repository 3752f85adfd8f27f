/**
 * A gateway of a few lines, with the ledger's judgement of producers' counters, that meets each request with the fate
 * the test gives it. It can be called as `fetch`, or listen on a port.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Reply {
  readonly status: number;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What becomes of a request: served; lost before or after it is served; its answer cut; silence; or another answer. */
export type Fate = 'serve' | 'lose request' | 'lose answer' | 'cut answer' | 'hang' | Reply;

export interface Stored {
  readonly producer: string;
  readonly counter: number;
  readonly type: string;
  readonly data: unknown;
}

export interface Received {
  readonly path: string;
  readonly body: string;
  readonly authorization: string | null;
}

interface Append {
  readonly producer: { readonly id: string; readonly sequence: number };
  readonly events: readonly { readonly type: string; readonly data: unknown }[];
}

function textOf(body: unknown): string {
  if (typeof body !== 'string') throw new Error('the library sends text');
  return body;
}

/** It takes requests of their own alone, as a server of an earlier release does. */
const isStream = (type: string | null | undefined): boolean => type === 'application/x-ndjson';

export class ScriptedGateway {
  readonly stored: Stored[] = [];
  readonly received: Received[] = [];
  /** The most requests that were under way at once. */
  mostAtOnce = 0;
  #underWay = 0;
  #fate: (index: number) => Fate = () => 'serve';

  /** For every request from now on; `index` counts from here. */
  meet(fate: (index: number) => Fate): void {
    const from = this.received.length;
    this.#fate = (index) => fate(index - from);
  }

  readonly fetch: typeof fetch = async (input, init) => {
    const { pathname } = new URL(input instanceof Request ? input.url : input);
    if (isStream(new Headers(init?.headers).get('content-type'))) return new Response('', { status: 415 });
    const authorization = new Headers(init?.headers).get('authorization');
    const signal = init?.signal;
    this.#underWay += 1;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.#underWay);
    try {
      const { fate, reply } = this.#take({ path: pathname, body: textOf(init?.body), authorization });
      await new Promise((resolve) => setImmediate(resolve));
      if (signal?.aborted !== true && fate === 'hang')
        await new Promise((end) => signal?.addEventListener('abort', end));
      if (signal?.aborted === true) throw new DOMException('aborted', 'AbortError');
      if (reply === undefined) throw new TypeError('fetch failed', { cause: new Error('other side closed') });
      const text = JSON.stringify(reply.body ?? {});
      return new Response(fate === 'cut answer' ? text.slice(0, -5) : text, {
        status: reply.status,
        headers: reply.headers ?? {},
      });
    } finally {
      this.#underWay -= 1;
    }
  };

  /** The same on a port. */
  async listen(port = 0): Promise<{ url: string; stop(): Promise<void> }> {
    const server = createServer((request, response) => {
      if (isStream(request.headers['content-type'])) return void response.writeHead(415).end();
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { url: path = '', headers } = request;
        const body = Buffer.concat(chunks).toString();
        const { fate, reply } = this.#take({ path, body, authorization: headers.authorization ?? null });
        if (fate === 'hang') return;
        if (reply === undefined) return void request.socket.destroy();
        const text = JSON.stringify(reply.body ?? {});
        response.writeHead(reply.status, { 'content-length': text.length, ...reply.headers });
        if (fate === 'cut answer') response.write(text.slice(0, -5), () => request.socket.destroy());
        else response.end(text);
      });
    });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      async stop() {
        server.closeAllConnections();
        server.close();
        await once(server, 'close');
      },
    };
  }

  /** No reply means that the connection breaks. */
  #take(request: Received): { fate: Fate; reply: Reply | undefined } {
    this.received.push(request);
    const fate = this.#fate(this.received.length - 1);
    if (typeof fate === 'object') return { fate, reply: fate };
    if (fate === 'lose request' || fate === 'hang') return { fate, reply: undefined };
    const reply =
      request.path === '/sessions' ? { status: 201, body: {} } : this.#append(JSON.parse(request.body) as Append);
    return { fate, reply: fate === 'lose answer' ? undefined : reply };
  }

  #append({ producer, events }: Append): Reply {
    const { id, sequence } = producer;
    const placeOf = (counter: number) =>
      this.stored.findIndex((event) => event.producer === id && event.counter === counter) + 1;
    const places = events.map((_, index) => placeOf(sequence + index));
    const isSame = places.every(
      (place, index) => JSON.stringify(this.stored[place - 1]?.data) === JSON.stringify(events[index]?.data),
    );
    if (places.every((place) => place > 0)) {
      const code = isSame ? 'duplicate_append' : 'producer_conflict';
      return refusal(409, code, { first: places[0], last: places.at(-1) });
    }
    if (places.some((place) => place > 0)) return refusal(409, 'producer_overlap');
    const first = this.stored.length + 1;
    for (const [index, event] of events.entries()) {
      this.stored.push({ producer: id, counter: sequence + index, type: event.type, data: event.data });
    }
    return { status: 201, body: { first, last: this.stored.length } };
  }
}

/** A problem as the server's routes answer it: its code is the end of its type, and nowhere else. */
export const refusal = (
  status: number,
  code: string,
  fields: object = {},
  headers: Record<string, string> = {},
): Reply => ({
  status,
  body: { type: `urn:ledgerline:problem:${code}`, title: code, detail: `because of ${code}`, status, ...fields },
  headers,
});
