/** What the ledger promises to the floors above: append durably, read in pages, tell heads. */
import type { NewEvent } from '../event/event.ts';
import type { Producer } from '../event/producer.ts';
import type { Cursor, Sequence } from '../event/sequence.ts';
import type { TurnNow } from '../event/turn-state.ts';
import type { SessionFilter } from './session-filter.ts';

export type SessionState = 'open' | 'closed' | 'deleted';

/** The top of a session's ledger as one read saw it. */
export interface Head {
  readonly head: Cursor;
  /** The highest sequence that retention removed; 0 when all of it is there. */
  readonly floor: Cursor;
  readonly state: SessionState;
}

export interface AppendRequest {
  readonly session: string;
  /** 1 to `limits.eventsPerAppend`, checked at the door. */
  readonly events: readonly NewEvent[];
  readonly producer?: Producer;
  /** Append only if the head is still here. */
  readonly expectedHead?: Cursor;
  /** A worker's append: refused unless this attempt still owns the session's running turn. */
  readonly fence?: { readonly turn: string; readonly attempt: number };
}

/** What became of one append. All or nothing: only `appended` stored anything. */
export type Outcome =
  | {
      readonly kind: 'appended';
      readonly first: Sequence;
      readonly last: Sequence;
      readonly at: string;
      /** Postgres's number of the transaction, which is its commit group's; unknown where only the counters told. */
      readonly transaction?: string | undefined;
    }
  | { readonly kind: 'duplicate'; readonly first: Sequence; readonly last: Sequence }
  | { readonly kind: 'conflict'; readonly first: Sequence; readonly last: Sequence }
  | { readonly kind: 'overlap'; readonly counter: number }
  | { readonly kind: 'closed' }
  | { readonly kind: 'deleted' }
  | { readonly kind: 'unknown_session' }
  | { readonly kind: 'wrong_head'; readonly head: Cursor }
  | { readonly kind: 'fenced' }
  | { readonly kind: 'busy' }
  /** Postgres refused the content itself (classes 22, 54); `reason` is safe to show. */
  | { readonly kind: 'refused'; readonly reason: string };

/** How the rows of a page are laid out; the wire's words come from the floor that owns them (`sse/frame`). */
export interface Layout {
  /** Before the sequence, between it and the envelope, after the envelope. */
  readonly open: string;
  readonly middle: string;
  readonly close: string;
}

/** Whole frames that follow a cursor, and the cursor behind them. */
export interface Piece {
  readonly after: Cursor;
  readonly last: Cursor;
  /** Little else lies in its ArrayBuffer, so that a slow socket keeps alive this piece and not the page [I6]. */
  readonly bytes: Buffer;
}

/** Consecutive events of a session, in pieces of about `limits.pieceBytes`. Immutable. */
export interface Page {
  readonly after: Cursor;
  /** `after` itself when there was no row. */
  readonly last: Cursor;
  /** Why it ended: all that was asked for, the limit on rows, the limit on bytes. */
  readonly cut: 'end' | 'rows' | 'bytes';
  /** Of all pieces. */
  readonly bytes: number;
  readonly pieces: readonly Piece[];
}

export interface HistoryPage {
  /** Envelopes in ascending order, as JSON texts. */
  readonly events: readonly string[];
  readonly first: Sequence | undefined;
  readonly last: Sequence | undefined;
  /** Of the moment in which the page was read; undefined when there is no such session. */
  readonly head: Head | undefined;
}

export interface SessionRow extends Head {
  readonly session: string;
  readonly metadata: unknown;
  readonly owner: string | undefined;
  readonly createdAt: string;
  readonly turn: TurnNow;
}

/** A session as the list shows it to one reader. */
export interface ListedSession extends Head {
  readonly session: string;
  readonly metadata: unknown;
  readonly turn: TurnNow;
  /** When it was last sent a message, ended a turn or asked something. */
  readonly activity: string;
  /** The last event that a person should see; 0 when there was none. */
  readonly notable: Cursor;
  /** How far the reader has read. */
  readonly read: Cursor;
}

/** A place in the list. Microseconds, as the database has them: with less, a page could begin before its place. */
export interface ListPlace {
  readonly activityUs: number;
  readonly session: string;
}

export interface ListRange {
  readonly limit: number;
  /** Left out: from the latest activity. */
  readonly after?: ListPlace | undefined;
}

export interface SessionList {
  readonly sessions: readonly ListedSession[];
  /** Where the following page begins; undefined on the last. */
  readonly next: ListPlace | undefined;
}

/** What a producer has stored of a session. */
export interface ProducerRow {
  readonly state: SessionState;
  /** Of its last stored event; 0 when it has none. */
  readonly counter: number;
  /** The sequences of its first and its last event. */
  readonly first: Sequence | undefined;
  readonly last: Sequence | undefined;
}

export interface ReadMark {
  readonly read: Cursor;
  readonly state: SessionState;
}

export interface Ledger {
  /** Stores one append, together with whatever else waits. Rejects with `unavailable` (nothing stored) or `append_unknown`. */
  append(request: AppendRequest): Promise<Outcome>;
  /**
   * The events in (after, to], from the lowest: at most `limits.pageRows` and `limits.pageBytes`, at least one if there is one.
   * None where retention or a deletion took the lowest, or left a hole: a page is contiguous or empty [I3].
   */
  page(session: string, after: Cursor, to: Cursor, layout: Layout): Promise<Page>;
  /** Heads of the sessions that exist, in one query; a session that is missing from the answer does not exist. */
  heads(sessions: readonly string[]): Promise<Map<string, Head>>;
  /** A page of history in either direction: the lowest events after `after`, or else the highest before `before`. */
  history(session: string, range: HistoryRange): Promise<HistoryPage>;
  /** `created` is false when the session was there already, whatever its state. */
  create(
    session: string,
    options: { metadata?: unknown; owner?: string },
  ): Promise<{ created: boolean; row: SessionRow }>;
  describe(session: string): Promise<SessionRow | undefined>;
  /** Closing a closed session changes nothing. Undefined when there is no such session. */
  close(session: string): Promise<Head | undefined>;
  /** Leaves a tombstone and erases the payloads; the id is never used again. Undefined when there is no such session. */
  delete(session: string): Promise<Head | undefined>;
  /** How far a producer has come. Undefined when there is no such session. */
  producer(session: string, producer: string): Promise<ProducerRow | undefined>;
  /** A page of the sessions that the filter shows and nobody deleted, as `subject` has read them. */
  list(filter: SessionFilter, range: ListRange, subject: string): Promise<SessionList>;
  /** Never goes back and never passes the head. Undefined when there is no such session. */
  markRead(session: string, subject: string, sequence: Cursor): Promise<ReadMark | undefined>;
}

export interface HistoryRange {
  readonly after?: Cursor;
  readonly before?: Cursor;
  /** Rows; also bounded by `limits.historyBytes`. */
  readonly limit: number;
}
