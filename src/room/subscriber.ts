/** One open stream: a cursor over the session's ledger, and the pump that moves it. It has no queue of its own [I6]. */
import type { Clock, Timer } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import { detach } from '../base/service.ts';
import type { ResetReason } from '../event/cursor.ts';
import type { Cursor } from '../event/sequence.ts';
import type { Head } from '../ledger/ledger.ts';
import * as frame from '../sse/frame.ts';
import type { Writer } from '../sse/writer.ts';
import { readPage } from './page-cache.ts';
import type { CutPage } from './page-cache.ts';
import type { Answer, Ask } from './replay.ts';
import type { Slice } from './tail.ts';

/** What a subscriber reads from: its room. */
export interface Source {
  readonly session: string;
  readonly watermark: Cursor;
  /** Frames from the room's tail. */
  read(cursor: Cursor): Slice | undefined;
  /** A page that is at hand, or a wait for one. */
  find(cursor: Cursor): CutPage | undefined;
  ask(cursor: Cursor, done: (answer: Answer) => void): Ask;
  /** Why a reader at `cursor` has nothing more to expect, if so. */
  over(cursor: Cursor): frame.EndReason | undefined;
  /** Asks the ledger where the session stands. Undefined when it cannot tell. */
  recheck(): Promise<Head | undefined>;
  sent(bytes: number): void;
  leave(subscriber: Subscriber): void;
  readonly clock: Clock;
  readonly log: Log;
}

/** Why a stream ended, for the count of ends. */
export type StreamEnd = frame.EndReason | frame.DenyReason | 'draining' | 'stalled' | 'failed' | 'disconnected';

/**
 * live: waits at the watermark. paging: waits for history. stalled: waits until the socket has drained.
 * ending: has said its last, which is being sent. closed: the connection is gone.
 */
export type State = 'live' | 'paging' | 'stalled' | 'ending' | 'closed';

/** What may happen to it: the room has news, what it waits for has come, the socket has drained, its end was written, the connection closed. */
export type Stimulus = 'news' | 'page' | 'drain' | 'last' | 'close';

/** `pump`: go on reading. A state: go there. Total, so that no pair of state and stimulus is left to chance. */
export const reactions: { readonly [S in State]: { readonly [T in Stimulus]: 'pump' | State } } = {
  live: { news: 'pump', page: 'live', drain: 'live', last: 'ending', close: 'closed' },
  paging: { news: 'paging', page: 'pump', drain: 'paging', last: 'ending', close: 'closed' },
  stalled: { news: 'stalled', page: 'stalled', drain: 'pump', last: 'ending', close: 'closed' },
  ending: { news: 'ending', page: 'ending', drain: 'ending', last: 'ending', close: 'closed' },
  closed: { news: 'closed', page: 'closed', drain: 'closed', last: 'closed', close: 'closed' },
};

export interface SubscriberOptions {
  readonly source: Source;
  readonly writer: Writer;
  readonly cursor: Cursor;
  /** The head when it joined: with everything up to it, replay is done. */
  readonly joinHead: Cursor;
  readonly expiresAtMs: number | undefined;
}

export class Subscriber {
  readonly #source: Source;
  readonly #writer: Writer;
  readonly #expiresAtMs: number;
  #state: State = 'live';
  #cursor: Cursor;
  #joinHead: Cursor;
  #isAnnounced = false;
  #end: StreamEnd = 'disconnected';
  #ask: Ask | undefined;
  #retry: Timer | undefined;
  #expiry: Timer | undefined;
  /** Where the socket stood when its unsent bytes were last seen to move. */
  #movedTo = 0;
  #movedAtMs: number;
  #counted = 0;

  constructor(options: SubscriberOptions) {
    this.#source = options.source;
    this.#writer = options.writer;
    this.#cursor = options.cursor;
    this.#joinHead = options.joinHead;
    this.#expiresAtMs = options.expiresAtMs ?? Infinity;
    this.#movedAtMs = this.#source.clock.now();
    this.#writer.onDrain(() => this.#react('drain'));
    this.#writer.onClose(() => this.#react('close'));
  }

  get state(): State {
    return this.#state;
  }

  get cursor(): Cursor {
    return this.#cursor;
  }

  /** Why it ended; `disconnected` unless this side ended it. */
  get end(): StreamEnd {
    return this.#end;
  }

  /** The head as far as it is known here: a reader may come from a gateway that is ahead of this room. */
  get #head(): Cursor {
    const { watermark } = this.#source;
    return watermark > this.#cursor ? watermark : this.#cursor;
  }

  /** The first bytes, then whatever there is. */
  begin(floor: Cursor, head: Cursor, reset: ResetReason | undefined): void {
    const { clock, session } = this.#source;
    this.#writer.cork();
    // Jittered, so that the readers of a server that died do not come back as one.
    this.#writer.write(frame.retryFrame(limits.retryMs * (0.5 + clock.random())));
    this.#writer.write(frame.helloFrame(session, this.#cursor, floor, head));
    if (reset !== undefined) this.#writer.write(frame.resetFrame(reset, floor, head));
    this.#watchExpiry();
    this.#react('news');
    this.#writer.uncork();
  }

  /** The room has moved. */
  news(): void {
    this.#react('news');
  }

  /** The session's history is not what it was: what was asked for is void, and who is ahead of it goes on from the floor. */
  restart(head: Head | undefined): void {
    if (this.#state === 'ending' || this.#state === 'closed') return;
    this.#stopWaiting();
    if (this.#state === 'paging') this.#state = 'live';
    if (head === undefined) return;
    if (this.#joinHead > head.head) this.#joinHead = head.head;
    if (this.#cursor > head.head) this.#reset('restored', head);
  }

  /** This server is going away; `retryMs` is this reader's own slot to come back. */
  goAway(retryMs: number): void {
    this.#finish(frame.goawayFrame(this.#cursor, retryMs), 'draining');
  }

  /** One beat of the wheel: reaps a socket that takes nothing, tells a quiet one that all is well. */
  beat(): void {
    const nowMs = this.#source.clock.now();
    const { unsentBytes, sentBytes } = this.#writer;
    this.#count(sentBytes);
    if (unsentBytes === 0 || sentBytes !== this.#movedTo) {
      this.#movedTo = sentBytes;
      this.#movedAtMs = nowMs;
    } else if (nowMs - this.#movedAtMs >= limits.stallMs) return this.destroy('stalled');
    const isOpen = this.#state === 'live' || this.#state === 'paging';
    if (isOpen && unsentBytes === 0) this.#writer.write(frame.syncFrame(this.#cursor, this.#head));
  }

  destroy(end: StreamEnd): void {
    if (this.#end === 'disconnected') this.#end = end;
    this.#writer.destroy();
    this.#react('close');
  }

  #react(stimulus: Stimulus, page?: CutPage): void {
    const reaction = reactions[this.#state][stimulus];
    if (reaction === 'pump') return this.#pump(page);
    if (reaction === this.#state) return;
    this.#state = reaction;
    this.#stopWaiting();
    this.#expiry?.cancel();
    if (reaction !== 'closed') return;
    this.#count(this.#writer.sentBytes);
    this.#source.leave(this);
  }

  #count(sentBytes: number): void {
    this.#source.sent(sentBytes - this.#counted);
    this.#counted = sentBytes;
  }

  /** Corked as a whole: the system calls happen here, inside the turn that is being timed. */
  #pump(page?: CutPage): void {
    this.#writer.cork();
    try {
      this.#read(page);
    } catch (error) {
      // A fault of ours costs this reader a reconnect, and the others nothing [I9].
      const { log, session } = this.#source;
      log.error({ err: error, session, sequence: this.#cursor }, 'a subscriber failed');
      this.destroy('failed');
    }
    this.#writer.uncork();
  }

  /** Reads until there is no more, no history at hand, no space in the socket, or an end. */
  #read(given: CutPage | undefined): void {
    const source = this.#source;
    let page = given;
    for (;;) {
      if (source.clock.wall() >= this.#expiresAtMs) return this.#deny('expired');
      this.#announce();
      const reason = source.over(this.#cursor);
      if (reason !== undefined) return this.#finish(frame.endFrame(this.#cursor, this.#head, reason), reason);
      if (!this.#writer.isWritable) return this.#rest('stalled');
      if (this.#cursor >= source.watermark) return this.#rest('live');
      let slice = source.read(this.#cursor);
      if (slice === undefined && page !== undefined) slice = readPage(page, this.#cursor);
      if (slice === undefined) {
        page = source.find(this.#cursor);
        if (page === undefined) return this.#askForPage();
        continue;
      }
      this.#writer.write(slice.bytes);
      this.#cursor = slice.last;
    }
  }

  #rest(state: 'live' | 'stalled'): void {
    this.#state = state;
  }

  #announce(): void {
    if (this.#isAnnounced || this.#cursor < this.#joinHead) return;
    this.#isAnnounced = true;
    this.#writer.write(frame.connectedFrame(this.#cursor, this.#head));
  }

  #askForPage(): void {
    this.#state = 'paging';
    this.#ask = this.#source.ask(this.#cursor, (answer) => {
      this.#ask = undefined;
      if (answer === 'gone') this.#recheck();
      else this.#react('page', answer);
    });
  }

  /** The ledger no longer has what follows: deleted, restored and expired each have their answer; else it is asked again. */
  #recheck(): void {
    let isCancelled = false;
    this.#ask = {
      cancel: () => {
        isCancelled = true;
      },
    };
    const settle = (head: Head | undefined): void => {
      if (isCancelled) return;
      this.#ask = undefined;
      if (head !== undefined && this.#cursor < head.floor) {
        this.#reset('expired', head);
        return this.#react('page');
      }
      if (this.#source.over(this.#cursor) !== undefined) return this.#react('page');
      this.#retry = this.#source.clock.after(limits.headCheckMs, () => this.#react('page'));
    };
    detach(this.#source.recheck().then(settle), this.#source.log, 'a subscriber could not go on');
  }

  #reset(reason: ResetReason, head: Head): void {
    this.#writer.write(frame.resetFrame(reason, head.floor, head.head));
    this.#cursor = head.floor;
  }

  #watchExpiry(): void {
    const leftMs = this.#expiresAtMs - this.#source.clock.wall();
    if (leftMs === Infinity) return;
    if (leftMs <= 0) return this.#deny('expired');
    // A timer's longest delay may be shorter than a token's life: look again then.
    this.#expiry = this.#source.clock.after(leftMs, () => this.#watchExpiry());
  }

  /** Whatever is still to be read is not for this reader any more. */
  #deny(reason: frame.DenyReason): void {
    this.#finish(frame.deniedFrame(this.#cursor, reason), reason);
  }

  #finish(last: string, end: StreamEnd): void {
    if (this.#state === 'ending' || this.#state === 'closed') return;
    this.#end = end;
    this.#writer.write(last);
    this.#writer.end();
    this.#react('last');
  }

  #stopWaiting(): void {
    this.#ask?.cancel();
    this.#ask = undefined;
    this.#retry?.cancel();
    this.#retry = undefined;
  }
}
