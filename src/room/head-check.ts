/** Compares open rooms with the ledger: the answer to every lost broadcast, the last one included [I5]. */
import type { Clock, Timer } from '../base/clock.ts';
import { LedgerlineError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import { detach } from '../base/service.ts';
import type { Bus, Subscription } from '../bus/bus.ts';
import type { Cursor } from '../event/sequence.ts';
import type { Head, Ledger, SessionState } from '../ledger/ledger.ts';
import type { RoomsObserver } from './observer.ts';

/** What a room knows of its ledger: a younger answer that says less comes from an older database. */
export interface Known {
  readonly watermark: Cursor;
  readonly state: SessionState;
}

/** An open room, as far as its head is concerned. */
export interface Watched {
  readonly known: Known;
  /** What the ledger says; undefined when it has no such session. `knownThen` is what the room knew when the read began. */
  learn(head: Head | undefined, knownThen: Known): void;
}

/** One session's part of a batch: everybody who asks for it has the same promise. */
interface Asked {
  readers: number;
  readonly answer: Promise<Head | undefined>;
  readonly resolve: (head: Head | undefined) => void;
  readonly reject: (error: unknown) => void;
}

function firstAsked(): Asked {
  let resolve: Asked['resolve'] = () => undefined;
  let reject: Asked['reject'] = () => undefined;
  const answer = new Promise<Head | undefined>((...settle) => ([resolve, reject] = settle));
  return { readers: 0, answer, resolve, reject };
}

export interface HeadCheckOptions {
  readonly ledger: Pick<Ledger, 'heads'>;
  readonly bus: Pick<Bus, 'onSuspect' | 'isAway'>;
  readonly rooms: ReadonlyMap<string, Watched>;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly observer?: Pick<RoomsObserver, 'isHeadCheckPaused'> | undefined;
}

/** To serve one of a herd takes half of it to all of it, so that those who come meanwhile share the next read. */
const SPACING_OF_READER_MS = 2;

export class HeadCheck {
  readonly #options: HeadCheckOptions;
  /** The next batch, by session; what the check of open rooms asks for has no reader, and costs no promise. */
  #wanted = new Map<string, Asked | undefined>();
  #isReading = false;
  #isStopped = false;
  #beganAtMs = -Infinity;
  #spacingMs: number = limits.headReadSpacingMs;
  #hasFailed = false;
  #spacing: Timer | undefined;
  #tick: Timer | undefined;
  #suspicion: Subscription | undefined;

  constructor(options: HeadCheckOptions) {
    this.#options = options;
  }

  start(): void {
    this.#suspicion = this.#options.bus.onSuspect(() => this.#checkAll());
    this.#arm();
  }

  stop(): void {
    this.#isStopped = true;
    this.#suspicion?.unsubscribe();
    this.#tick?.cancel();
    this.#spacing?.cancel();
    for (const asked of this.#takeWanted().values()) asked?.reject(goingAway());
  }

  /**
   * One read that begins now or later, shared with everybody who asks meanwhile: they get the same promise. Rejects when the
   * ledger cannot answer.
   */
  read(session: string): Promise<Head | undefined> {
    if (this.#isStopped) return Promise.reject(goingAway());
    const asked = this.#wanted.get(session) ?? firstAsked();
    this.#wanted.set(session, asked);
    asked.readers += 1;
    this.#schedule();
    return asked.answer;
  }

  #checkAll(): void {
    const { rooms, observer } = this.#options;
    if (observer?.isHeadCheckPaused() !== true) {
      for (const session of rooms.keys()) if (!this.#wanted.has(session)) this.#wanted.set(session, undefined);
    }
    // The check of open rooms does not wait as long as a herd may have to [I5].
    this.#spacingMs = limits.headReadSpacingMs;
    this.#spacing?.cancel();
    this.#spacing = undefined;
    if (this.#wanted.size > 0) this.#schedule();
    this.#arm();
  }

  #arm(): void {
    this.#tick?.cancel();
    const everyMs = this.#options.bus.isAway ? limits.headCheckAwayMs : limits.headCheckMs;
    this.#tick = this.#options.clock.after(everyMs, () => this.#checkAll());
  }

  /** The first batch of a quiet moment begins at once; the next when this one is back and the spacing is past. */
  #schedule(): void {
    if (this.#isReading || this.#spacing !== undefined || this.#isStopped) return;
    const waitMs = this.#beganAtMs + this.#spacingMs - this.#options.clock.now();
    if (waitMs <= 0) return detach(this.#readBatch(), this.#options.log, 'a batch of heads failed');
    this.#spacing = this.#options.clock.after(waitMs, () => {
      this.#spacing = undefined;
      detach(this.#readBatch(), this.#options.log, 'a batch of heads failed');
    });
  }

  async #readBatch(): Promise<void> {
    const { rooms, ledger, clock, metrics } = this.#options;
    const batch = this.#takeWanted();
    // A room may move, close or open again while the read is under way: judge it as it was when the read began.
    const watched = new Map<string, { room: Watched; known: Known }>();
    for (const session of batch.keys()) {
      const room = rooms.get(session);
      if (room !== undefined) watched.set(session, { room, known: room.known });
    }
    let readers = 0;
    for (const asked of batch.values()) readers += asked?.readers ?? 0;
    this.#spacingMs = Math.min(
      Math.max(readers * SPACING_OF_READER_MS, limits.headReadSpacingMs),
      limits.headReadSpacingCapMs,
    );
    this.#isReading = true;
    this.#beganAtMs = clock.now();
    metrics.headChecks.inc();
    try {
      const heads = await ledger.heads([...batch.keys()]);
      this.#noteFailure(undefined);
      for (const [session, { room, known }] of watched) room.learn(heads.get(session), known);
      for (const [session, asked] of batch) asked?.resolve(heads.get(session));
    } catch (error) {
      this.#noteFailure(error);
      for (const asked of batch.values()) asked?.reject(error);
    } finally {
      this.#isReading = false;
      if (this.#wanted.size > 0) this.#schedule();
    }
  }

  /** One line when the ledger goes and one when it is back, not one for each tick. */
  #noteFailure(error: unknown): void {
    const hasFailed = error !== undefined;
    if (hasFailed && !this.#hasFailed) this.#options.log.warn({ err: error }, 'heads cannot be read; open rooms wait');
    if (!hasFailed && this.#hasFailed) this.#options.log.info('heads can be read again');
    this.#hasFailed = hasFailed;
  }

  #takeWanted(): Map<string, Asked | undefined> {
    const wanted = this.#wanted;
    this.#wanted = new Map();
    return wanted;
  }
}

const goingAway = (): LedgerlineError => new LedgerlineError('draining', 'this server is going away');
