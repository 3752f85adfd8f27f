/** What a room's sweeps give to its subscribers, and how old that was by then: one measure a sweep, whatever the number of readers. */
import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import { stampOf } from '../event/event.ts';
import { next } from '../event/sequence.ts';
import type { Cursor } from '../event/sequence.ts';
import type { SweepWatch } from './sweep.ts';

/** The room, as far as it is asked what a sweep gives, and to how many. */
export interface Delivering {
  readonly session: string;
  readonly watermark: Cursor;
  readonly subscribers: { readonly size: number };
}

/** What all rooms share of it: each with a copy would fetch its own for every event [bench]. */
export interface DeliveriesOptions {
  /** Milliseconds since the epoch, by the clock that stamps events. */
  readonly wall: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
}

export class Deliveries implements SweepWatch {
  readonly #room: Delivering;
  readonly #options: DeliveriesOptions;
  #delivered: Cursor;
  /** When the first broadcast was stamped that no sweep has begun to give out; its frames would outlast the tail's budget [I6]. */
  #waitingMs: number | undefined;
  /** Of the sweep that is under way: where it goes to, and what it took over as waiting. */
  #given: Cursor;
  #oldestMs: number | undefined;

  constructor(room: Delivering, at: Cursor, options: DeliveriesOptions) {
    this.#room = room;
    this.#options = options;
    this.#delivered = at;
    this.#given = at;
  }

  /** A broadcast continued the watermark. What comes without frames is not measured: nothing here tells when it was stamped. */
  heard(frames: Buffer | undefined): void {
    this.#waitingMs ??= frames && stampOf(frames);
  }

  /** A sweep begins; what is heard from now on is the next one's. */
  began(): void {
    this.#given = this.#room.watermark;
    this.#oldestMs = this.#waitingMs;
    this.#waitingMs = undefined;
  }

  /** Every subscriber was given it, or its socket was full. */
  ended(): void {
    const { session, subscribers } = this.#room;
    const before = this.#delivered;
    this.#delivered = this.#given;
    // A restored database takes the watermark back: what is given out again has no news.
    if (this.#given <= before || subscribers.size === 0) return;
    const { wall, log, metrics } = this.#options;
    const lagMs = this.#oldestMs === undefined ? undefined : wall() - this.#oldestMs;
    // A stamp has whole milliseconds and a clock is known to a fraction of one, so that it may lie a little ahead.
    if (lagMs !== undefined && !Number.isNaN(lagMs)) metrics.streamLagSeconds.observe(Math.max(0, lagMs) / 1_000);
    log.debug({ session, first: next(before), last: this.#given, subscribers: subscribers.size, lagMs }, 'delivered');
  }
}
