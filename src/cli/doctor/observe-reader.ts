/** Reads as readers do: opens streams, comes back to them, by a token or a ticket, from a page of another origin. */
import { TOKEN_COOKIE } from '../../http/cookie.ts';
import { ask, bearer } from './call.ts';
import type { Outcome, Question, Wire } from './call.ts';
import type { OriginSeen } from './judge-origin.ts';
import type { ResumeSeen } from './judge-resume.ts';
import type { TicketSeen } from './judge-ticket.ts';
import type { WatchSeen } from './judge-watch.ts';
import { listen } from './listen.ts';
import type { Listening } from './listen.ts';

/** Who reads which session where. */
export interface Reader {
  readonly url: string;
  readonly session: string;
  readonly credential: { readonly kind: 'token' | 'ticket'; readonly text: string };
}

interface From {
  readonly after?: string;
  readonly lastEventId?: string;
}

function streamOf({ url, session, credential }: Reader, { after, lastEventId }: From): Question {
  const query = new URLSearchParams({
    ...(after !== undefined && { after }),
    ...(credential.kind === 'ticket' && { ticket: credential.text }),
  });
  return {
    url,
    path: `/sessions/${session}/stream${query.size > 0 ? `?${query.toString()}` : ''}`,
    headers: {
      ...(credential.kind === 'token' && bearer(credential.text)),
      ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
    },
  };
}

/** From now on. */
export const openStream = (wire: Wire, reader: Reader): Listening => listen(wire, streamOf(reader, { after: 'head' }));

export async function observeResume(wire: Wire, reader: Reader, cursor: number): Promise<ResumeSeen> {
  return {
    cursor,
    byHeader: await effectiveCursor(wire, streamOf(reader, { lastEventId: String(cursor) })),
    byQuery: await effectiveCursor(wire, streamOf(reader, { after: String(cursor) })),
  };
}

async function effectiveCursor(wire: Wire, question: Question): Promise<ResumeSeen['byHeader']> {
  const stream = listen(wire, question);
  await stream.until(() => stream.first('hello') !== undefined, wire.times.heldBackMs);
  stream.close();
  if (stream.head?.status === 204) return 'over';
  const [, after] = /"after":(\d+)/.exec(stream.first('hello')?.data ?? '') ?? [];
  return after === undefined ? undefined : Number(after);
}

export const mintTicket = (wire: Wire, url: string, session: string, credential: string): Promise<Outcome> =>
  ask(wire, { url, path: `/sessions/${session}/tickets`, method: 'POST', headers: bearer(credential) });

export function ticketIn(minted: Outcome | undefined): string | undefined {
  if (minted?.kind !== 'answer' || minted.status !== 201) return undefined;
  return /"ticket":"([^"]+)"/.exec(minted.text)?.[1];
}

export interface TicketAsked {
  readonly url: string;
  readonly session: string;
  readonly minted: Outcome;
  readonly token: string | undefined;
  readonly origin: string | undefined;
}

export async function observeTicket(wire: Wire, { token, ...asked }: TicketAsked): Promise<TicketSeen> {
  const { url, session, minted } = asked;
  const ticket = ticketIn(minted);
  const redeemed = ticket === undefined ? undefined : await redeem(wire, asked, ticket);
  const cookie = { cookie: `${TOKEN_COOKIE}=${token ?? ''}` };
  const byCookie =
    token === undefined ? undefined : await ask(wire, { url, path: `/sessions/${session}`, headers: cookie });
  return { ...asked, redeemed, byCookie };
}

async function redeem(
  wire: Wire,
  { url, session }: Pick<TicketAsked, 'url' | 'session'>,
  ticket: string,
): Promise<TicketSeen['redeemed']> {
  const stream = openStream(wire, { url, session, credential: { kind: 'ticket', text: ticket } });
  await stream.until(() => stream.head !== undefined, wire.times.heldBackMs);
  stream.close();
  return stream.head && { status: stream.head.status, setCookie: stream.head.headers['set-cookie'] ?? [] };
}

/** The answer itself is a refusal, which says as much of origins as any other. */
export async function observeOrigin(wire: Wire, url: string, origin: string): Promise<OriginSeen> {
  const asking = { 'access-control-request-method': 'GET', 'access-control-request-headers': 'authorization' };
  return {
    url,
    origin,
    preflight: await ask(wire, { url, path: '/sessions', method: 'OPTIONS', headers: { origin, ...asking } }),
    read: await ask(wire, { url, path: '/sessions?limit=1', headers: { origin } }),
  };
}

/** How often whoever waits is told how far it has come. */
const TICK_MS = 1_000;

export async function observeWatch(wire: Wire, reader: Reader, passed: (ms: number) => void): Promise<WatchSeen> {
  const stream = openStream(wire, reader);
  const { watchMs } = wire.times;
  while (stream.now() < watchMs && stream.end === undefined) {
    await stream.until(() => false, Math.min(TICK_MS, watchMs - stream.now()));
    passed(stream.now());
  }
  const { end } = stream;
  const watchedMs = stream.now();
  stream.close();
  return {
    watchedMs,
    arrivalsMs: stream.frames.map(({ atMs }) => atMs),
    end,
    farewell: stream.frames.find(({ name }) => ['goaway', 'end', 'denied'].includes(name))?.name,
  };
}
