/** What a subscriber reads from, as it sees its room. */
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Cursor } from '../event/sequence.ts';
import type { Head, Page } from '../ledger/ledger.ts';
import type { EndReason } from '../sse/frame.ts';
import type { Answer, Ask } from './replay.ts';
import type { Slice } from './tail.ts';

export interface Source {
  readonly session: string;
  readonly watermark: Cursor;
  /** Frames from the room's tail. */
  read(cursor: Cursor): Slice | undefined;
  /** A page that is at hand, or a wait for one. */
  find(cursor: Cursor): Page | undefined;
  ask(cursor: Cursor, done: (answer: Answer) => void): Ask;
  /** Why a reader at `cursor` has nothing more to expect, if so. */
  over(cursor: Cursor): EndReason | undefined;
  /** Asks the ledger where the session stands. Undefined when it cannot tell. */
  recheck(): Promise<Head | undefined>;
  /** Counts bytes handed to sockets. */
  sent(bytes: number): void;
  /** Counts a reader that took less than there was. */
  stalled(): void;
  /** The wall clock as a sweep sees it: looked at once in each of its turns. */
  readonly sweep: Pick<Clock, 'wall'>;
  readonly clock: Clock;
  readonly log: Log;
}
