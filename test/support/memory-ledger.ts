/** The ledger in memory: the same answers as Postgres, with delays and faults that a test chooses. */
import { limits } from '../../src/base/limits.ts';
import { LedgerlineError } from '../../src/base/errors.ts';
import type { Broadcast } from '../../src/bus/bus.ts';
import { envelope } from '../../src/event/event.ts';
import type { StoredEvent } from '../../src/event/event.ts';
import { START, after, next, plus, toCursor } from '../../src/event/sequence.ts';
import type { Cursor } from '../../src/event/sequence.ts';
import type { Head, Ledger, Page, Piece, SessionState } from '../../src/ledger/ledger.ts';
import { eventFrame } from '../../src/sse/frame.ts';

interface StoredSession {
  readonly events: StoredEvent[];
  floor: Cursor;
  state: SessionState;
}

export interface MemoryLedger extends Pick<Ledger, 'page' | 'heads'> {
  /** Commits `count` events of about `bytes` bytes, and says what a broadcast of them would. */
  commit(session: string, count?: number, bytes?: number): Extract<Broadcast, { kind: 'events' }>;
  head(session: string): Head;
  close(session: string): void;
  /** Leaves a tombstone and erases the events. */
  erase(session: string): void;
  /** Retention: events up to and with `floor` go. */
  retain(session: string, floor: number): void;
  /** The database of an earlier time: only the first `head` events are there. */
  restore(session: string, head: number): void;
  /** Before every read, and between its snapshot and its answer: wait here, or throw. */
  beforeRead: (kind: 'page' | 'heads') => Promise<void> | void;
  beforeAnswer: (kind: 'page' | 'heads') => Promise<void> | void;
  readonly pageReads: number;
  readonly headReads: number;
}

export const unavailable = (): LedgerlineError => new LedgerlineError('unavailable', 'the database is away');

export function memoryLedger(): MemoryLedger {
  const sessions = new Map<string, StoredSession>();
  let pageReads = 0;
  let headReads = 0;

  function session(id: string): StoredSession {
    const known = sessions.get(id) ?? { events: [], floor: START, state: 'open' as const };
    sessions.set(id, known);
    return known;
  }
  const headOf = ({ events, floor, state }: StoredSession): Head => {
    const newest = events.at(-1);
    return { head: newest === undefined ? floor : after(newest.sequence), floor, state };
  };
  const frameOf = (event: StoredEvent): string => eventFrame(event.sequence, envelope(event));

  function readPage(id: string, from: Cursor, to: Cursor): Page {
    const events = sessions.get(id)?.events ?? [];
    const before = (events[0]?.sequence ?? 1) - 1;
    // As Postgres does: where the lowest are gone there is no page.
    const rows = from < before ? [] : events.slice(from - before, Math.max(0, to - before));
    const pieces: Piece[] = [];
    let frames: Buffer[] = [];
    let bytes = 0;
    let last = from;
    let cut: Page['cut'] = 'end';
    const endPiece = (): void => {
      pieces.push({ after: pieces.at(-1)?.last ?? from, last, bytes: Buffer.concat(frames) });
      frames = [];
    };
    for (const event of rows) {
      const frame = Buffer.from(frameOf(event));
      if (bytes > 0 && bytes + frame.length > limits.pageBytes) cut = 'bytes';
      else if (last - from === limits.pageRows) cut = 'rows';
      if (cut !== 'end') break;
      frames.push(frame);
      bytes += frame.length;
      last = after(event.sequence);
      if (Math.floor(bytes / limits.pieceBytes) > pieces.length) endPiece();
    }
    if (frames.length > 0) endPiece();
    return { after: from, last, cut, bytes, pieces };
  }

  const ledger: MemoryLedger = {
    beforeRead: () => undefined,
    beforeAnswer: () => undefined,
    get pageReads() {
      return pageReads;
    },
    get headReads() {
      return headReads;
    },
    commit(id, count = 1, bytes = 20) {
      const stored = session(id);
      const first = next(headOf(stored).head);
      for (let index = 0; index < count; index += 1) {
        const sequence = plus(first, index);
        const data = JSON.stringify({ text: String(sequence).padEnd(bytes, '.') });
        stored.events.push({ sequence, type: 'text.delta', at: '2026-11-30T04:00:00.000Z', data });
      }
      const frames = Buffer.from(stored.events.slice(-count).map(frameOf).join(''));
      return { kind: 'events', first, last: plus(first, count - 1), frames };
    },
    head: (id) => headOf(session(id)),
    close: (id) => void (session(id).state = 'closed'),
    erase(id) {
      const stored = session(id);
      stored.floor = headOf(stored).head;
      stored.state = 'deleted';
      stored.events.length = 0;
    },
    retain(id, floor) {
      const stored = session(id);
      const from = stored.events.findIndex((event) => event.sequence > floor);
      stored.events.splice(0, from < 0 ? stored.events.length : from);
      stored.floor = toCursor(floor);
    },
    restore(id, head) {
      const stored = session(id);
      const from = stored.events.findIndex((event) => event.sequence > head);
      if (from >= 0) stored.events.splice(from);
      stored.state = 'open';
    },
    async page(id, from, to) {
      pageReads += 1;
      await ledger.beforeRead('page');
      const page = readPage(id, from, to);
      await ledger.beforeAnswer('page');
      return page;
    },
    async heads(ids) {
      headReads += 1;
      await ledger.beforeRead('heads');
      const known = ids.flatMap((id) => {
        const stored = sessions.get(id);
        return stored === undefined ? [] : [[id, headOf(stored)] as const];
      });
      await ledger.beforeAnswer('heads');
      return new Map(known);
    },
  };
  return ledger;
}
