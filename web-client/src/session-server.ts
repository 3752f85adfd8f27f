/** A session as its server shows it: the stream, pages of history and its facts, asked for with the reader's token. */
import { createRequester } from './requester.ts';
import type { RequesterOptions } from './requester.ts';
import { isEvent } from './session-event.ts';
import type { SessionEvent } from './session-event.ts';
import type { HeldToken } from './token.ts';

export interface SessionServerOptions extends RequesterOptions {
  readonly session: string;
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

/** What the session's agent does. `ready`: something is to be claimed, of the turn that is named, or of a new one. */
export interface TurnFacts {
  readonly state: 'idle' | 'ready' | 'running' | 'waiting';
  readonly turn: string | null;
  readonly attempt: number | null;
  readonly stop: 'stop' | 'interrupt' | null;
}

export interface SessionFacts {
  readonly session: string;
  readonly head: number;
  readonly floor: number;
  readonly state: 'open' | 'closed' | 'deleted';
  readonly metadata: unknown;
  readonly turn: TurnFacts;
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
  const { ask, json, refuse } = createRequester(options);
  const path = `/sessions/${encodeURIComponent(options.session)}`;
  let streamToken: HeldToken | undefined;
  return {
    async open(cursor, signal) {
      const from = cursor === 'head' ? '/stream?after=head' : '/stream';
      const { response, held } = await ask(path + from, 'text/event-stream', signal, {
        // Real status codes, instead of the 200 that keeps a browser's own EventSource coming back.
        Prefer: 'handling=strict',
        ...(typeof cursor === 'number' && cursor > 0 && { 'Last-Event-ID': String(cursor) }),
      });
      streamToken = held;
      return response;
    },
    history: (range, signal) =>
      json<HistoryPage>(`${path}/events?${query(range)}`, signal, ({ events, head }) => {
        return Array.isArray(events) && events.every(isEvent) && Number.isSafeInteger(head);
      }),
    describe: (signal) => json<SessionFacts>(path, signal, ({ head }) => Number.isSafeInteger(head)),
    renewToken: () => refuse(streamToken),
  };
}

function query(range: HistoryRange): string {
  const place = 'before' in range ? `before=${range.before}` : `after=${range.after}`;
  return range.limit === undefined ? place : `${place}&limit=${range.limit}`;
}
