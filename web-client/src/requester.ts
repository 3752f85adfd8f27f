/** Requests to the public listener with the reader's token, and what becomes of their answers. */
import { systemClock } from './clock.ts';
import type { Clock } from './clock.ts';
import { FollowError } from './follow-error.ts';
import { parseJson } from './parse-json.ts';
import { createTokenHolder } from './token.ts';
import type { HeldToken, Token } from './token.ts';

export interface RequesterOptions {
  /** Of the public listener; '' for the page's own origin. */
  readonly url: string;
  readonly token?: Token | undefined;
  readonly credentials?: RequestCredentials | undefined;
  readonly fetch?: typeof fetch | undefined;
  readonly clock?: Clock | undefined;
}

export interface Asked {
  readonly response: Response;
  readonly held: HeldToken;
}

/** Every call rejects with a `FollowError`, and with nothing else. */
export interface Requester {
  /** An answer of that type, or 204. With a body it is a POST, whose answer may be any success. */
  readonly ask: (
    path: string,
    accept: string,
    signal?: AbortSignal,
    headers?: Readonly<Record<string, string>>,
    body?: string,
  ) => Promise<Asked>;
  readonly json: <T>(
    path: string,
    signal: AbortSignal | undefined,
    isRight: (value: T) => boolean,
    body?: object,
  ) => Promise<T>;
  /** The token no longer holds. Whether asking the token function again can help. */
  readonly refuse: (held: HeldToken | undefined) => boolean;
}

export function createRequester(options: RequesterOptions): Requester {
  const { credentials, clock = systemClock } = options;
  const root = options.url.replace(/\/+$/, '');
  const tokens = createTokenHolder(options.token);

  /** A 401 is answered with a new token, once. */
  const ask: Requester['ask'] = async (path, Accept, signal, more, body) => {
    for (let isAgain = false; ; isAgain = true) {
      const held = tokens.current;
      const token = await tokens.read(held, signal);
      const headers = {
        Accept,
        ...more,
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      };
      const response = await request(root + path, {
        headers,
        cache: 'no-store',
        ...(body !== undefined && { method: 'POST', body }),
        ...(credentials && { credentials }),
        ...(signal && { signal }),
      });
      const { status } = response;
      if (status === 401 && tokens.refuse(held) && !isAgain) discard(response);
      else if (
        status === 204 ||
        ((body === undefined ? status === 200 : response.ok) &&
          response.headers.get('content-type')?.startsWith(Accept) === true)
      ) {
        return { response, held };
      } else throw await refusal(response, clock);
    }
  };

  async function request(url: string, init: RequestInit): Promise<Response> {
    if (options.fetch === undefined) insist(url, init);
    try {
      return await (options.fetch ?? fetch)(url, init);
    } catch (cause) {
      throw noAnswer(cause, init.signal);
    }
  }

  return {
    ask,
    async json<T>(
      path: string,
      signal: AbortSignal | undefined,
      isRight: (value: T) => boolean,
      body?: object,
    ): Promise<T> {
      const { response } = await ask(path, 'application/json', signal, undefined, body && JSON.stringify(body));
      let value: unknown;
      try {
        value = parseJson(await response.text());
      } catch (cause) {
        throw noAnswer(cause, signal);
      }
      if (!isRight(Object(value) as T)) throw await refusal(response, clock);
      return value as T;
    },
    refuse: (held) => tokens.refuse(held),
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
  const document = Object(parseJson(await response.text().catch(() => ''))) as Record<string, unknown>;
  const { type, detail } = document;
  return new FollowError(
    status >= 500 || [408, 425, 429].includes(status) ? 'unavailable' : 'refused',
    typeof detail === 'string' ? detail : `answered ${status}`,
    {
      status,
      problem: /^urn:ledgerline:problem:(\w+)$/.exec(String(type))?.[1],
      retryAfterMs: retryAfterMs(response.headers.get('retry-after'), clock),
      document,
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
