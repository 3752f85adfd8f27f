/** One open stream: a cursor over the session's ledger, and the pump that moves it. It has no queue of its own [I6]. */
import type { Timer } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import { detach } from '../base/service.ts';
import type { ResetReason } from '../event/cursor.ts';
import type { Cursor } from '../event/sequence.ts';
import type { Head, Page } from '../ledger/ledger.ts';
import * as frame from '../sse/frame.ts';
import type { Writer } from '../sse/writer.ts';
import { readPage } from './page-cache.ts';
import { Permit, expirySecond, hasBegun } from './permit.ts';
import type { Terms } from './permit.ts';
import { Progress } from './progress.ts';
import type { Ask } from './replay.ts';
import type { Source } from './source.ts';
import { reactions } from './subscriber-state.ts';
import type { State, Stimulus, StreamEnd } from './subscriber-state.ts';

export interface SubscriberOptions {
  readonly source: Source;
  readonly writer: Writer;
  readonly cursor: Cursor;
  /** The head when it joined: with everything up to it, replay is done. */
  readonly joinHead: Cursor;
  readonly terms: Terms;
  readonly onClosed: (subscriber: Subscriber) => void;
}

export class Subscriber {
  // What a visit looks at comes first and lies together: among thousands of readers each is cold again by the next event [bench].
  #state: State = 'live';
  #cursor: Cursor;
  #isAnnounced = false;
  /** The second in which its token ends; before it nobody has to ask the permit. */
  readonly #expirySecond: number;
  readonly #source: Source;
  readonly #writer: Writer;
  readonly #permit: Permit;
  readonly #progress: Progress;
  readonly #onClosed: (subscriber: Subscriber) => void;
  #joinHead: Cursor;
  #end: StreamEnd = 'disconnected';
  #ask: Ask | undefined;
  #retry: Timer | undefined;
  #counted = 0;
  /** Where it would have begun, had it read all up to its cursor without a jump. */
  #origin: number;

  constructor(options: SubscriberOptions) {
    this.#source = options.source;
    this.#writer = options.writer;
    this.#onClosed = options.onClosed;
    this.#cursor = options.cursor;
    this.#origin = options.cursor;
    this.#joinHead = options.joinHead;
    this.#permit = new Permit(options.terms, this.#source.clock, (reason) => this.#deny(reason), this.#source.sweep);
    this.#expirySecond = expirySecond(options.terms);
    this.#progress = new Progress(this.#source.clock.now());
    this.#writer.onDrain(() => this.#catchUp('drain'));
    this.#writer.onClose(() => this.#react('close'));
  }

  get cursor(): Cursor {
    return this.#cursor;
  }

  /** Why it ended; `disconnected` unless this side ended it. */
  get end(): StreamEnd {
    return this.#end;
  }

  /** What it was given in all. */
  get given(): { readonly events: number; readonly bytes: number } {
    return { events: this.#cursor - this.#origin, bytes: this.#counted };
  }

  /** The head as far as it is known here: a reader may come from a gateway that is ahead of this room. */
  get #head(): Cursor {
    const { watermark } = this.#source;
    return watermark > this.#cursor ? watermark : this.#cursor;
  }

  /** The first bytes, then whatever there is. */
  begin(floor: Cursor, head: Cursor, reset: ResetReason | undefined): void {
    this.#writer.cork();
    // Jittered, so that the readers of a server that died do not come back as one.
    this.#writer.write(frame.retryFrame(limits.retryMs * (0.5 + this.#source.clock.random())));
    this.#writer.write(frame.helloFrame(this.#source.session, this.#cursor, floor, head));
    if (reset !== undefined) this.#writer.write(frame.resetFrame(reset, floor, head));
    this.#permit.watch();
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
    this.#guarded(() => {
      this.#count(this.#writer.sentBytes);
      if (this.#progress.hasStalled(this.#writer, this.#source.clock.now())) return this.destroy('stalled');
      if ((this.#state !== 'live' && this.#state !== 'paging') || this.#writer.unsentBytes > 0) return;
      this.#writer.write(frame.syncFrame(this.#cursor, this.#head));
    });
  }

  destroy(end: StreamEnd): void {
    if (this.#end === 'disconnected') this.#end = end;
    this.#writer.destroy();
    this.#react('close');
  }

  #react(stimulus: Stimulus, page?: Page): void {
    const reaction = reactions[this.#state][stimulus];
    if (reaction === 'pump') return this.#guarded(() => this.#read(page));
    if (reaction === this.#state) return;
    this.#state = reaction;
    this.#stopWaiting();
    this.#permit.release();
    if (reaction !== 'closed') return;
    this.#count(this.#writer.sentBytes);
    this.#onClosed(this);
  }

  #count(sentBytes: number): void {
    this.#source.sent(sentBytes - this.#counted);
    this.#counted = sentBytes;
  }

  /** Who is behind reads piece after piece: one system call for all that it may take. */
  #catchUp(stimulus: 'drain' | 'page', page?: Page): void {
    this.#writer.cork();
    this.#react(stimulus, page);
    this.#writer.uncork();
  }

  /** A fault of ours costs this reader a reconnect, and the others nothing [I9]. */
  #guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      const facts = { err: error, session: this.#source.session, sequence: this.#cursor };
      this.#source.log.error(facts, 'a subscriber failed');
      this.destroy('failed');
    }
  }

  /** Reads until there is no more, no history at hand, no space in the socket, or an end. */
  #read(given: Page | undefined): void {
    const source = this.#source;
    let page = given;
    if (hasBegun(this.#expirySecond, source.sweep) && this.#permit.hasExpired) return this.#deny('expired');
    for (;;) {
      this.#announce();
      const reason = source.over(this.#cursor);
      if (reason !== undefined) return this.#finish(frame.endFrame(this.#cursor, this.#head, reason), reason);
      if (this.#cursor >= source.watermark) return void (this.#state = 'live');
      if (!this.#writer.isWritable) {
        this.#state = 'stalled';
        return source.stalled();
      }
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
      else this.#catchUp('page', answer);
    });
  }

  /** The ledger no longer has what follows: deleted, restored and expired each have their answer; else it is asked again. */
  #recheck(): void {
    let isCancelled = false;
    this.#ask = { cancel: () => void (isCancelled = true) };
    const settle = (head: Head | undefined): void => {
      if (isCancelled) return;
      this.#ask = undefined;
      const isExpired = head !== undefined && this.#cursor < head.floor;
      if (isExpired) this.#reset('expired', head);
      if (isExpired || this.#source.over(this.#cursor) !== undefined) return this.#catchUp('page');
      this.#retry = this.#source.clock.after(limits.headCheckMs, () => this.#catchUp('page'));
    };
    detach(this.#source.recheck().then(settle), this.#source.log, 'a subscriber could not go on');
  }

  #reset(reason: ResetReason, head: Head): void {
    this.#writer.write(frame.resetFrame(reason, head.floor, head.head));
    this.#origin += head.floor - this.#cursor;
    this.#cursor = head.floor;
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
