/** A session as its server shows it: the stream, pages of history and its facts, asked for with the reader's token. */
import { systemClock } from './clock.ts';
import type { Clock } from './clock.ts';
import { FollowError } from './follow-error.ts';
import { parseJson } from './parse-json.ts';
import { isEvent } from './session-event.ts';
import type { SessionEvent } from './session-event.ts';
import { createTokenHolder } from './token.ts';
import type { HeldToken, Token } from './token.ts';

export interface SessionServerOptions {
  /** Of the public listener; '' for the page's own origin. */
  readonly url: string;
  readonly session: string;
  readonly token?: Token | undefined;
  readonly credentials?: RequestCredentials | undefined;
  readonly fetch?: typeof fetch | undefined;
  readonly clock?: Clock | undefined;
}

/** The lowest events after a sequence, or the highest before one; `limit` is 1 to 1,000 events, 100 if absent. */
export type HistoryRange =
  | { readonly after: number; readonly limit?: number | undefined }
  | { readonly before: number; readonly limit?: number | undefined };

export interface HistoryPage {
  /** Ascending, in both directions. */
  readonly events: readonly SessionEvent[];
  readonly first: number | null;
  readonly last: number | null;
  readonly head: number;
  readonly floor: number;
}

export interface SessionFacts {
  readonly session: string;
  readonly head: number;
  readonly floor: number;
  readonly state: 'open' | 'closed' | 'deleted';
  readonly metadata: unknown;
  /** Of the process that answers; null when nobody follows the session there. */
  readonly room: { readonly watermark: number; readonly subscribers: number } | null;
}

/** Every call rejects with a `FollowError`, and with nothing else. */
export interface SessionServer {
  /** A stream with status 200, or the 204 of a session that is over. */
  open(cursor: number | 'head', signal: AbortSignal): Promise<Response>;
  history(range: HistoryRange, signal?: AbortSignal): Promise<HistoryPage>;
  describe(signal?: AbortSignal): Promise<SessionFacts>;
  /** The token of the stream that was opened last no longer holds. Whether asking the token function again can help. */
  renewToken(): boolean;
}

export function createSessionServer(options: SessionServerOptions): SessionServer {
  const { session, credentials, clock = systemClock } = options;
  const root = `${options.url.replace(/\/+$/, '')}/sessions/${encodeURIComponent(session)}`;
  const tokens = createTokenHolder(options.token);
  let streamToken: HeldToken | undefined;

  /** An answer of that type, or 204. A 401 is answered with a new token, once. */
  async function ask(path: string, Accept: string, signal: AbortSignal | undefined, more?: Record<string, string>) {
    for (let isAgain = false; ; isAgain = true) {
      const held = tokens.current;
      const token = await tokens.read(held, signal);
      const headers = { Accept, ...more, ...(token !== undefined && { Authorization: `Bearer ${token}` }) };
      const response = await request(root + path, {
        headers,
        cache: 'no-store',
        ...(credentials && { credentials }),
        ...(signal && { signal }),
      });
      const { status } = response;
      if (status === 401 && tokens.refuse(held) && !isAgain) discard(response);
      else if (
        status === 204 ||
        (status === 200 && response.headers.get('content-type')?.startsWith(Accept) === true)
      ) {
        return { response, held };
      } else throw await refusal(response, clock);
    }
  }

  async function request(url: string, init: RequestInit): Promise<Response> {
    if (options.fetch === undefined) insist(url, init);
    try {
      return await (options.fetch ?? fetch)(url, init);
    } catch (cause) {
      throw noAnswer(cause, init.signal);
    }
  }

  async function json<T>(path: string, signal: AbortSignal | undefined, isRight: (value: T) => boolean): Promise<T> {
    const { response } = await ask(path, 'application/json', signal);
    let value: unknown;
    try {
      value = parseJson(await response.text());
    } catch (cause) {
      throw noAnswer(cause, signal);
    }
    if (!isRight(Object(value) as T)) throw await refusal(response, clock);
    return value as T;
  }

  return {
    async open(cursor, signal) {
      const { response, held } = await ask(
        cursor === 'head' ? '/stream?after=head' : '/stream',
        'text/event-stream',
        signal,
        {
          // Real status codes, instead of the 200 that keeps a browser's own EventSource coming back.
          Prefer: 'handling=strict',
          ...(typeof cursor === 'number' && cursor > 0 && { 'Last-Event-ID': String(cursor) }),
        },
      );
      streamToken = held;
      return response;
    },
    history: (range, signal) =>
      json<HistoryPage>(`/events?${query(range)}`, signal, ({ events, head }) => {
        return Array.isArray(events) && events.every(isEvent) && Number.isSafeInteger(head);
      }),
    describe: (signal) => json<SessionFacts>('', signal, ({ head }) => Number.isSafeInteger(head)),
    renewToken: () => tokens.refuse(streamToken),
  };
}

/** `fetch` does not tell a wrong address or a broken token from a network that is away, and they would be tried for ever. */
function insist(url: string, { headers }: RequestInit): void {
  try {
    void new Request(url, headers && { headers });
  } catch (cause) {
    throw new FollowError('failed', 'no request can be made of this address and token', { cause });
  }
}

function query(range: HistoryRange): string {
  const place = 'before' in range ? `before=${range.before}` : `after=${range.after}`;
  return range.limit === undefined ? place : `${place}&limit=${range.limit}`;
}

const noAnswer = (cause: unknown, signal: AbortSignal | null | undefined): FollowError =>
  new FollowError(signal?.aborted === true ? 'aborted' : 'unavailable', 'no answer', { cause });

/** A status that time may mend is `unavailable`; what is no refusal was not said by Ledgerline. */
async function refusal(response: Response, clock: Clock): Promise<FollowError> {
  const { status } = response;
  if (status < 400) {
    // Its end may never come.
    discard(response);
    return new FollowError('not_ledgerline', 'not an answer of Ledgerline', { status });
  }
  const { type, detail } = Object(parseJson(await response.text().catch(() => ''))) as Record<string, unknown>;
  return new FollowError(
    status >= 500 || [408, 425, 429].includes(status) ? 'unavailable' : 'refused',
    typeof detail === 'string' ? detail : `answered ${status}`,
    {
      status,
      problem: /^urn:ledgerline:problem:(\w+)$/.exec(String(type))?.[1],
      retryAfterMs: retryAfterMs(response.headers.get('retry-after'), clock),
    },
  );
}

/** Seconds, or a date. */
function retryAfterMs(value: string | null, clock: Clock): number | undefined {
  if (value === null) return undefined;
  const ms = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - clock.wall();
  return ms > 0 ? ms : undefined;
}

/** Nobody reads the body; its end must not be an unhandled rejection. */
function discard(response: Response): void {
  response.body?.cancel().catch(() => undefined);
}
