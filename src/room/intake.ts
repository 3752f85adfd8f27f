/** The one way into a room's tail: broadcasts, heads and repairs all enter here, and only ever raise the watermark [I3]. */
import type { Clock, Timer } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { Metrics } from '../base/metrics.ts';
import { START, after, before } from '../event/sequence.ts';
import type { Cursor } from '../event/sequence.ts';
import { beginsWith, frameEnds } from '../sse/frame.ts';
import { classify } from './gap.ts';
import { Held } from './held.ts';
import type { EventsBroadcast, Repair } from './held.ts';
import { Tail } from './tail.ts';
import type { TailBudget } from './tail-budget.ts';

export interface IntakeOptions {
  readonly at: Cursor;
  readonly budget: TailBudget;
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** A broadcast takes its place in the tail, with these frames. */
  readonly onEntered: (frames: Buffer | undefined) => void;
  /** The watermark rose. */
  readonly onAdvance: () => void;
  /** Before it rises past something that no broadcast brought; for whoever looks on. */
  readonly onRepaired?: ((repair: Repair) => void) | undefined;
}

/**
 * A gap is not fetched here: the watermark rises past it, the tail begins behind it, and the subscribers pull what is
 * missing from the ledger like any reader that comes late.
 */
export class Intake {
  readonly tail: Tail;
  readonly #held = new Held();
  readonly #options: IntakeOptions;
  #reorder: Timer | undefined;

  constructor(options: IntakeOptions) {
    this.#options = options;
    this.tail = new Tail(options.at, options.budget);
  }

  /** Everything up to here is known to be committed. */
  get watermark(): Cursor {
    return this.tail.end;
  }

  /** The watermark, or what lies beyond it and is only known to exist. */
  get committed(): Cursor {
    return this.#held.highest > this.watermark ? this.#held.highest : this.watermark;
  }

  take(broadcast: EventsBroadcast): void {
    switch (classify(broadcast.first, broadcast.last, this.watermark)) {
      case 'old':
        return;
      case 'next':
      case 'overlap':
        this.#enter(broadcast);
        this.#drain();
        return this.#options.onAdvance();
      case 'gap':
        this.#held.add(broadcast);
        return this.#wait();
    }
  }

  /** The ledger reaches to `head`. Its broadcasts may be just behind: they get the same moment as one out of order. */
  learn(head: Cursor): void {
    if (head <= this.watermark) return;
    this.#held.note(head, 'head');
    this.#wait();
  }

  /** Another ledger than before (a restored database), or none any more. */
  restart(at: Cursor): void {
    this.close();
    this.tail.restart(at);
  }

  close(): void {
    this.#reorder?.cancel();
    this.#reorder = undefined;
    this.#held.clear();
  }

  /** Only for what continues the watermark or lies across it. */
  #enter(broadcast: EventsBroadcast): void {
    const { first, last, frames } = broadcast;
    const ends = frames === undefined ? [] : frameEnds(frames);
    // A broadcast is only a hint: one whose frames are not what it says counts as a range, and the ledger tells.
    if (frames === undefined || ends.length !== last - before(first) || !beginsWith(frames, first)) {
      this.#options.metrics.repairs.inc({ cause: 'range' });
      return this.tail.restart(after(last));
    }
    this.#options.onEntered(frames);
    this.tail.append(frames, ends, this.watermark - before(first));
  }

  #drain(): void {
    if (this.#held.highest === START) return;
    for (;;) {
      const broadcast = this.#held.takeNext(this.watermark);
      if (broadcast === undefined) break;
      this.#enter(broadcast);
    }
    if (this.#held.highest <= this.watermark) this.close();
  }

  /** What was read together with the timer's tick is heard first, hence `soon`. */
  #wait(): void {
    this.#reorder ??= this.#options.clock.after(limits.reorderMs, () => {
      this.#reorder = this.#options.clock.soon(() => this.#repair());
    });
  }

  #repair(): void {
    this.#reorder = undefined;
    const { metrics, onRepaired } = this.#options;
    metrics.repairs.inc({ cause: this.#held.cause });
    if (onRepaired !== undefined) for (const repair of this.#held.repairs(this.watermark)) onRepaired(repair);
    const { to, broadcasts } = this.#held.takeRun();
    const begin = broadcasts[0];
    this.tail.restart(begin === undefined ? to : before(begin.first));
    for (const broadcast of broadcasts) this.#enter(broadcast);
    this.#options.onAdvance();
  }
}
