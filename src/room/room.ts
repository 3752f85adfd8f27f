/** One session's live view in this process: what is committed so far, its newest frames, and who follows them. */
import { backoffMs } from '../base/backoff.ts';
import type { Clock, Timer } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import { detach } from '../base/service.ts';
import type { Broadcast, Bus, Pending } from '../bus/bus.ts';
import { begin } from '../event/cursor.ts';
import type { RequestedCursor } from '../event/cursor.ts';
import { START } from '../event/sequence.ts';
import type { Cursor } from '../event/sequence.ts';
import type { Head, Page, SessionState } from '../ledger/ledger.ts';
import type { EndReason } from '../sse/frame.ts';
import type { Writer } from '../sse/writer.ts';
import type { HeadCheck, Known, Watched } from './head-check.ts';
import { Intake } from './intake.ts';
import type { RoomsObserver } from './observer.ts';
import { Deliveries } from './deliveries.ts';
import type { Terms } from './permit.ts';
import type { Answer, Ask, Replay } from './replay.ts';
import { Subscriber } from './subscriber.ts';
import type { Source } from './source.ts';
import type { StreamEnd } from './subscriber-state.ts';
import { Sweep } from './sweep.ts';
import type { SyncWheel } from './sync.ts';
import type { Slice } from './tail.ts';
import type { TailBudget } from './tail-budget.ts';

export interface JoinRequest extends Terms {
  readonly session: string;
  readonly requested: RequestedCursor;
  /** Read after the request arrived: a reader may come from a gateway that is ahead of this room. */
  readonly head: Head;
  readonly writer: Writer;
  /** It has ended, and this is what it was. */
  readonly onLeft?: (left: Left) => void;
}

export interface Left {
  readonly reason: StreamEnd;
  /** What the reader resumes with, if everything arrived. */
  readonly cursor: Cursor;
  readonly events: number;
  readonly bytes: number;
}

/** What all rooms of a process share. */
export interface Shared {
  readonly bus: Pick<Bus, 'subscribe'>;
  readonly replay: Replay;
  readonly headCheck: HeadCheck;
  readonly wheel: SyncWheel<Subscriber>;
  readonly budget: TailBudget;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Milliseconds since the epoch, by the clock that stamps events. */
  readonly wall: () => number;
  readonly observer: RoomsObserver | undefined;
}

/** A session that the ledger does not have (any more). */
const nothing: Head = { head: START, floor: START, state: 'open' };
const rank: Readonly<Record<SessionState, number>> = { open: 0, closed: 1, deleted: 2 };
const resubscribe = { firstMs: 100, capMs: 5_000 };

const tell = (subscriber: Subscriber): void => subscriber.news();

export class Room implements Source, Watched {
  readonly session: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly subscribers = new Set<Subscriber>();
  readonly sweep: Sweep<Subscriber>;
  readonly #shared: Shared;
  readonly #onEmpty: () => void;
  readonly #intake: Intake;
  #state: SessionState;
  #isOpen = true;
  #pending: Pending | undefined;
  #resubscription: Timer | undefined;

  constructor(session: string, head: Head, shared: Shared, onEmpty: () => void) {
    this.session = session;
    this.clock = shared.clock;
    this.log = shared.log;
    this.#shared = shared;
    this.#onEmpty = onEmpty;
    this.#state = head.state;
    const deliveries = new Deliveries(this, head.head, shared);
    this.sweep = new Sweep(this.subscribers, tell, shared.clock, deliveries);
    this.#intake = new Intake({
      at: head.head,
      budget: shared.budget,
      clock: shared.clock,
      metrics: shared.metrics,
      onEntered: (frames) => deliveries.heard(frames),
      onAdvance: () => this.sweep.request(),
      onRepaired: shared.observer && ((repair) => shared.observer?.onRepaired(session, repair)),
    });
    this.#subscribe(0);
  }

  get watermark(): Cursor {
    return this.#intake.watermark;
  }

  get known(): Known {
    return { watermark: this.watermark, state: this.#state };
  }

  join(request: JoinRequest): Subscriber {
    const { head, requested, writer, onLeft } = request;
    this.#intake.learn(head.head);
    this.#learnState(head.state);
    const beginning = begin(requested, head.head, head.floor);
    const subscriber = new Subscriber({
      source: this,
      writer,
      cursor: beginning.after,
      joinHead: head.head,
      terms: request,
      // Not the request itself: what it brought would last as long as the stream.
      onClosed: (left) => this.#leave(left, onLeft),
    });
    this.subscribers.add(subscriber);
    this.#shared.wheel.add(subscriber);
    this.#shared.metrics.subscribers.inc();
    subscriber.begin(head.floor, head.head, beginning.reset);
    return subscriber;
  }

  /** Lets go of the bus, of every timer, and of what it read: with nobody left to compare heads it could turn wrong unnoticed. */
  close(): void {
    this.#isOpen = false;
    this.#resubscription?.cancel();
    this.#pending?.unsubscribe();
    this.sweep.cancel();
    this.#forget(this.watermark);
  }

  learn(head: Head | undefined, knownThen: Known): void {
    if (!this.#isOpen) return;
    const now = head ?? nothing;
    if (now.state === 'deleted') return this.#learnState('deleted');
    if (now.head < knownThen.watermark || rank[now.state] < rank[knownThen.state]) return this.#restore(now);
    this.#intake.learn(now.head);
    this.#learnState(now.state);
  }

  // what its subscribers read

  read(cursor: Cursor): Slice | undefined {
    return this.#intake.tail.read(cursor);
  }

  find(cursor: Cursor): Page | undefined {
    return this.#shared.replay.find(this.session, cursor, this.#intake.tail.start);
  }

  ask(cursor: Cursor, done: (answer: Answer) => void): Ask {
    const { tail, watermark } = this.#intake;
    return this.#shared.replay.ask(this.session, cursor, { watermark, tailStart: tail.start }, done);
  }

  /** Counted now and then, not with each write: a counter costs more than handing over a shared slice. */
  sent(bytes: number): void {
    this.#shared.metrics.framesBytes.inc(bytes);
  }

  stalled(): void {
    this.#shared.metrics.streamStalls.inc();
  }

  over(cursor: Cursor): EndReason | undefined {
    if (this.#state === 'deleted') return 'deleted';
    // Nothing is appended to a closed session; the head came with the state, and nobody ends before it.
    return this.#state === 'closed' && cursor >= this.#intake.committed ? 'closed' : undefined;
  }

  async recheck(): Promise<Head | undefined> {
    try {
      return await this.#shared.headCheck.read(this.session);
    } catch (error) {
      this.log.debug({ err: error, session: this.session }, 'a head could not be read');
      return undefined;
    }
  }

  #leave(subscriber: Subscriber, onLeft: JoinRequest['onLeft']): void {
    if (!this.subscribers.delete(subscriber)) return;
    this.#shared.wheel.remove(subscriber);
    this.#shared.metrics.subscribers.dec();
    this.#shared.metrics.streamEnds.inc({ reason: subscriber.end });
    onLeft?.({ reason: subscriber.end, cursor: subscriber.cursor, ...subscriber.given });
    if (this.subscribers.size === 0) this.#onEmpty();
  }

  #subscribe(attempt: number): void {
    const pending = this.#shared.bus.subscribe(this.session, (broadcast) => this.#hear(broadcast));
    this.#pending = pending;
    pending.ready.then(
      // Whatever fell between the head that opened the room and this moment; the head check tells the room.
      () => {
        if (this.#isOpen) detach(this.recheck(), this.log, 'a room could not compare heads');
      },
      (error: unknown) => {
        if (!this.#isOpen) return;
        this.log.warn({ err: error, session: this.session }, 'a room hears nothing; head checks carry it');
        pending.unsubscribe();
        const delayMs = backoffMs(resubscribe, attempt, this.clock.random());
        this.#resubscription = this.clock.after(delayMs, () => this.#subscribe(attempt + 1));
      },
    );
  }

  #hear(broadcast: Broadcast): void {
    if (!this.#isOpen || this.#state === 'deleted') return;
    if (broadcast.kind === 'head') detach(this.recheck(), this.log, 'a room could not compare heads');
    else this.#intake.take(broadcast);
  }

  /** A state only goes forward; an answer that began earlier does not take it back. */
  #learnState(state: SessionState): void {
    if (rank[state] <= rank[this.#state]) return;
    this.#state = state;
    if (state === 'deleted') {
      this.#forget(this.watermark);
      for (const subscriber of this.subscribers) subscriber.restart(undefined);
    }
    this.sweep.request();
  }

  /** The head is below what was known to be committed, or the session is no longer over: the database is an older one. */
  #restore(head: Head): void {
    this.log.warn({ session: this.session, sequence: head.head, watermark: this.watermark }, 'the ledger went back');
    this.#forget(head.head);
    this.#state = head.state;
    for (const subscriber of this.subscribers) subscriber.restart(head);
    this.sweep.request();
  }

  #forget(at: Cursor): void {
    this.#intake.restart(at);
    this.#shared.replay.forget(this.session);
  }
}
