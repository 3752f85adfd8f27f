/** A session's server of a few lines, called as `fetch`: serves a ledger in the protocol's frames, or whatever a test says. */
import type { Cursor, Sequence } from '../../src/event/sequence.ts';
import * as frame from '../../src/sse/frame.ts';
import type { SessionEvent } from '../../web-client/src/session-event.ts';
import type { TurnFacts } from '../../web-client/src/session-server.ts';

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Headers;
  /** What was sent with it. */
  readonly body: unknown;
  /** The stream's cursor as the server understands it. */
  readonly cursor: number | 'head';
}

/** One open stream, held by the test. */
export interface Visit extends Asked {
  say(...texts: readonly (string | Uint8Array)[]): void;
  /** The connection breaks behind what was said. */
  cut(): void;
  end(): void;
  /** Neither side has ended it. */
  readonly isOpen: boolean;
}

export type Answer = Response | 'fail' | 'hang' | undefined;

export const frames = {
  retry: frame.retryFrame,
  hello: (after: number, head: number, floor = 0) => frame.helloFrame('s1', at(after), at(floor), at(head)),
  event: (event: SessionEvent) => frame.eventFrame(event.sequence as Sequence, JSON.stringify(event)),
  connected: (after: number, head = after) => frame.connectedFrame(at(after), at(head)),
  sync: (after: number, head = after) => frame.syncFrame(at(after), at(head)),
  reset: (reason: 'expired' | 'ahead' | 'malformed' | 'restored', floor: number, head: number) =>
    frame.resetFrame(reason, at(floor), at(head)),
  goaway: (after: number, retryMs: number) => frame.goawayFrame(at(after), retryMs),
  end: (after: number, reason: 'closed' | 'deleted' = 'closed') => frame.endFrame(at(after), at(after), reason),
  denied: (after: number) => frame.deniedFrame(at(after), 'expired'),
};
const at = (cursor: number): Cursor => cursor as Cursor;

export const eventOf = (sequence: number, data: unknown = sequence, type = 'note'): SessionEvent => ({
  sequence,
  type,
  at: '2026-11-30T04:00:00.000Z',
  data,
});

export const problem = (status: number, code: string, headers: Record<string, string> = {}): Response =>
  new Response(
    JSON.stringify({ type: `urn:ledgerline:problem:${code}`, title: code, status, detail: `it is ${code}` }),
    {
      status,
      headers: { 'content-type': 'application/problem+json', ...headers },
    },
  );

export class ScriptedSession {
  readonly events: SessionEvent[] = [];
  state: 'open' | 'closed' | 'deleted' = 'open';
  /** As the session is described. */
  turn: TurnFacts = { state: 'idle', turn: null, attempt: null, stop: null };
  /** Every request for the stream that was answered with one. */
  readonly visits: Visit[] = [];
  readonly asked: Asked[] = [];
  /** Of frames that carry events. */
  eventBytes = 0;
  /** What a request meets instead of its answer; undefined: it is served. */
  meet: (asked: Asked, index: number) => Answer = () => undefined;
  /** What a visit gets, once it is open. */
  receive: (visit: Visit, index: number) => void = (visit) => this.serve(visit);

  constructor(count = 0) {
    this.append(count);
  }

  get head(): number {
    return this.events.length;
  }

  /** Of the stream alone. */
  get cursors(): (number | 'head')[] {
    return this.asked.filter(({ path }) => path.endsWith('/stream')).map(({ cursor }) => cursor);
  }

  get descriptions(): number {
    return this.asked.filter(({ path }) => path === '/sessions/s1').length;
  }

  get open(): Visit[] {
    return this.visits.filter((visit) => visit.isOpen);
  }

  get last(): Visit {
    const visit = this.visits.at(-1);
    if (visit === undefined) throw new Error('nobody came');
    return visit;
  }

  /** Appends and tells nobody. */
  append(count: number): SessionEvent[] {
    const fresh = Array.from({ length: count }, (_, index) => eventOf(this.head + index + 1));
    this.events.push(...fresh);
    return fresh;
  }

  /** Appends and tells the open streams, as they stand. */
  broadcast(count: number): void {
    const from = this.head;
    this.append(count);
    this.#tell(from);
  }

  /** The same for one event of a type. */
  say(type: string, data: unknown): SessionEvent {
    const event = eventOf(this.head + 1, data, type);
    this.events.push(event);
    this.#tell(event.sequence - 1);
    return event;
  }

  /** The messages that were sent, in order, each as often as it came. */
  get sent(): unknown[] {
    return this.asked
      .filter(({ path }) => path.endsWith('/messages'))
      .map(({ body }) => (body as { content: unknown }).content);
  }

  text(after: number, to = this.head): string {
    return this.events
      .slice(after, to)
      .map((event) => this.#frameOf(event))
      .join('');
  }

  /** As a correct server does. */
  serve(visit: Visit): void {
    const after = visit.cursor === 'head' ? this.head : visit.cursor;
    visit.say(frames.retry(1_000), frames.hello(after, this.head));
    if (after < this.head) visit.say(this.text(after));
    visit.say(frames.connected(this.head));
  }

  readonly fetch: typeof fetch = async (input, init) => {
    const { pathname: path, searchParams, search } = new URL(input instanceof Request ? input.url : input);
    const headers = new Headers(init?.headers);
    const after = headers.get('last-event-id') ?? searchParams.get('after') ?? '0';
    const cursor = after === 'head' ? after : Number(after);
    const body: unknown = typeof init?.body === 'string' ? JSON.parse(init.body) : undefined;
    const asked: Asked = { method: init?.method ?? 'GET', path, query: search, headers, body, cursor };
    this.asked.push(asked);
    const signal = init?.signal ?? undefined;
    if (signal?.aborted === true) throw new DOMException('aborted', 'AbortError');
    const answer = this.meet(asked, this.asked.length - 1);
    if (answer instanceof Response) return answer;
    if (answer === 'fail') throw new TypeError('fetch failed');
    if (answer === 'hang')
      return new Promise((_, reject) => {
        signal?.addEventListener('abort', () => reject(new DOMException('aborted', 'AbortError')));
      });
    if (path.endsWith('/stream')) return this.#stream(asked, signal);
    if (path.endsWith('/events')) return Response.json(this.#page(searchParams));
    if (path.endsWith('/messages')) return this.#take(body as { readonly key: string });
    const { head, state, turn } = this;
    return Response.json({ session: 's1', head, floor: 0, state, metadata: null, turn, room: null });
  };

  /** A message is stored once, however often it is sent. */
  #take(message: { readonly key: string }): Response {
    const isSame = ({ type, data }: SessionEvent): boolean =>
      type === 'message.created' && (data as { readonly key?: unknown }).key === message.key;
    const known = this.events.find(isSame);
    const { sequence } = known ?? this.say('message.created', { role: 'user', by: 'me', ...message });
    return Response.json({ sequence, state: 'ready' }, { status: known === undefined ? 201 : 200 });
  }

  #tell(from: number): void {
    const text = this.text(from);
    for (const visit of this.open) visit.say(text);
  }

  #frameOf(event: SessionEvent): string {
    const text = frames.event(event);
    this.eventBytes += text.length;
    return text;
  }

  #stream(asked: Asked, signal: AbortSignal | undefined): Response {
    let isOpen = true;
    const said: (Uint8Array | 'cut' | 'end')[] = [];
    let news: () => void = () => undefined;
    const put = (what: Uint8Array | 'cut' | 'end'): void => {
      if (isOpen) said.push(what);
      news();
    };
    const leave = (): void => {
      isOpen = false;
      news();
    };
    const pull = async (open: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
      while (said.length === 0 && isOpen) await new Promise<void>((resolve) => (news = resolve));
      const next = said.shift();
      if (next instanceof Uint8Array) open.enqueue(next);
      else if (next === 'end') open.close();
      else if (next === 'cut') open.error(new TypeError('network error'));
    };
    const body = new ReadableStream<Uint8Array>({ pull, cancel: leave }, { highWaterMark: 0 });
    signal?.addEventListener('abort', leave);
    const close = (how: 'cut' | 'end'): void => {
      put(how);
      isOpen = false;
    };
    const visit: Visit = {
      ...asked,
      say: (...texts) => texts.forEach((text) => put(typeof text === 'string' ? new TextEncoder().encode(text) : text)),
      cut: () => close('cut'),
      end: () => close('end'),
      get isOpen() {
        return isOpen;
      },
    };
    this.visits.push(visit);
    this.receive(visit, this.visits.length - 1);
    return new Response(body, { headers: { 'content-type': 'text/event-stream; charset=utf-8' } });
  }

  #page(query: URLSearchParams): object {
    const limit = Number(query.get('limit') ?? 100);
    const before = query.get('before');
    const below =
      before === null ? this.events.slice(Number(query.get('after') ?? 0)) : this.events.slice(0, Number(before) - 1);
    const events = before === null ? below.slice(0, limit) : below.slice(-limit);
    const { head } = this;
    return { events, first: events[0]?.sequence ?? null, last: events.at(-1)?.sequence ?? null, head, floor: 0 };
  }
}
