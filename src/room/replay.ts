/** History for readers that the tail does not cover: pages cut at fixed places, each read once for all who want it. */
import { backoffMs } from '../base/backoff.ts';
import type { Clock, Timer } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import { detach } from '../base/service.ts';
import { toCursor } from '../event/sequence.ts';
import type { Cursor } from '../event/sequence.ts';
import type { Ledger, Page } from '../ledger/ledger.ts';
import { eventLayout } from '../sse/frame.ts';
import { FairLine } from './fair-line.ts';
import { PageCache, blockOf, holds } from './page-cache.ts';
import { PageRuns } from './page-runs.ts';
import { walkInTurns } from './turns.ts';

/** A page, or `gone`: the ledger no longer has the event that follows. */
export type Answer = Page | 'gone';

/** A reader's wait for a page. */
export interface Ask {
  cancel(): void;
}

interface Waiter extends Ask {
  readonly done: (answer: Answer) => void;
}

/** One read for everybody in `waiters`; in line, under way, or waiting for its next try. Nobody in it: read ahead. */
interface Fetch {
  readonly session: string;
  readonly after: Cursor;
  readonly to: Cursor;
  readonly waiters: Set<Waiter>;
  /** How far history is read for the one who came to it at a run; undefined when nobody did. */
  ahead: Cursor | undefined;
  attempt: number;
  isForgotten: boolean;
}

const retry = { firstMs: limits.pageRetryMs, capMs: limits.pageRetryCapMs };

export interface ReplayOptions {
  readonly ledger: Pick<Ledger, 'page'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly cache?: PageCache;
}

export class Replay {
  readonly #options: ReplayOptions;
  readonly #cache: PageCache;
  /** Every fetch that somebody may still join, by session. */
  readonly #fetches = new Map<string, Set<Fetch>>();
  /** Fetches that wait for a connection. */
  readonly #line = new FairLine<Fetch>();
  #running = 0;
  /** Of those that run, the ones that nobody waited for when they began. */
  #runningAhead = 0;
  readonly #runs = new PageRuns();
  readonly #retries = new Map<Fetch, Timer>();
  /** Waiters whose page has come, resumed in turns. */
  readonly #ready = new Map<Waiter, Answer>();
  #resuming: Timer | undefined;

  constructor(options: ReplayOptions) {
    this.#options = options;
    this.#cache = options.cache ?? new PageCache();
  }

  /** The page that holds what follows `cursor`, when it is at hand. What is read ahead ends where the tail begins. */
  find(session: string, cursor: Cursor, tailStart: Cursor): Page | undefined {
    const page = this.#cache.find(session, cursor);
    if (page === undefined) return undefined;
    const { clock, metrics } = this.#options;
    metrics.pages.inc({ source: 'shared' });
    // Else it comes back to a page that it had begun, after a stall.
    if (cursor === page.after) {
      const nowMs = clock.now();
      if (this.#runs.ledTo(session, cursor, nowMs)) this.#readAhead(session, page.last, tailStart);
      this.#runs.gave(session, page, nowMs);
    }
    return page;
  }

  /**
   * Asks for what follows `cursor`, at most up to `watermark`, which makes every page immutable. While the ledger is
   * away the ask stays and is tried again. The page that comes may end before `cursor`: the reader asks again.
   */
  ask(
    session: string,
    cursor: Cursor,
    { watermark, tailStart = watermark }: { readonly watermark: Cursor; readonly tailStart?: Cursor },
    done: (answer: Answer) => void,
  ): Ask {
    let fetch = this.#underWay(session, cursor);
    if (fetch === undefined) {
      fetch = this.#open(session, cursor, watermark);
      this.#line.add(session, fetch);
    } else this.#options.metrics.pages.inc({ source: 'shared' });
    if (this.#runs.ledTo(session, cursor, this.#options.clock.now())) fetch.ahead = tailStart;
    const { waiters } = fetch;
    const waiter: Waiter = {
      done,
      cancel: () => {
        waiters.delete(waiter);
        this.#ready.delete(waiter);
      },
    };
    waiters.add(waiter);
    this.#pull();
    return waiter;
  }

  /** The session's history is not what it was (restored, or erased): nothing read before may be served any more. */
  forget(session: string): void {
    this.#cache.forget(session);
    for (const fetch of this.#fetches.get(session) ?? []) fetch.isForgotten = true;
    this.#fetches.delete(session);
  }

  stop(): void {
    for (const timer of this.#retries.values()) timer.cancel();
    this.#retries.clear();
    this.#resuming?.cancel();
    this.#ready.clear();
    this.#line.clear();
    this.#fetches.clear();
  }

  #underWay(session: string, cursor: Cursor): Fetch | undefined {
    for (const fetch of this.#fetches.get(session) ?? []) {
      if (holds({ after: fetch.after, last: fetch.to }, cursor)) return fetch;
    }
    return undefined;
  }

  /** Of the events up to `until`, what lies in the block of `cursor`. */
  #open(session: string, cursor: Cursor, until: Cursor): Fetch {
    const blockEnd = toCursor((blockOf(cursor) + 1) * limits.pageRows);
    const to = blockEnd < until ? blockEnd : until;
    const fetch = {
      session,
      after: cursor,
      to,
      waiters: new Set<Waiter>(),
      ahead: undefined,
      attempt: 0,
      isForgotten: false,
    };
    const fetches = this.#fetches.get(session) ?? new Set();
    this.#fetches.set(session, fetches.add(fetch));
    return fetch;
  }

  /**
   * A lone reader at a run would wait for every page, and the ledger for the reader. Never before somebody who waits: it is
   * read now or not at all, and then it is in the cache like any other.
   */
  #readAhead(session: string, cursor: Cursor, tailStart: Cursor): void {
    const isSpare =
      this.#line.isEmpty && this.#running < limits.replayConnections && this.#runningAhead < limits.readAheadReads;
    // More runners than the cache has places for would push one another's pages out before they come for them.
    if (cursor >= tailStart || !isSpare || 2 * this.#runs.bytes > this.#cache.limitBytes) return;
    if (this.#underWay(session, cursor) !== undefined || this.#cache.find(session, cursor) !== undefined) return;
    const read = this.#read(this.#open(session, cursor, tailStart));
    this.#runningAhead += 1;
    const ended = read.finally(() => (this.#runningAhead -= 1));
    detach(ended, this.#options.log, 'a page could not be read ahead');
  }

  #pull(): void {
    while (this.#running < limits.replayConnections) {
      const fetch = this.#line.take();
      if (fetch === undefined) return;
      if (fetch.waiters.size === 0) this.#close(fetch);
      else detach(this.#read(fetch), this.#options.log, 'a page could not be handed out');
    }
  }

  async #read(fetch: Fetch): Promise<void> {
    const { ledger, metrics } = this.#options;
    this.#running += 1;
    metrics.pages.inc({ source: 'postgres' });
    try {
      const page = await ledger.page(fetch.session, fetch.after, fetch.to, eventLayout);
      const isEmpty = page.bytes === 0;
      // A page that ends early for no reason lost its rows to a deletion or a restore: nobody else shall have it.
      if (!isEmpty && !fetch.isForgotten && (page.last === fetch.to || page.cut !== 'end')) {
        this.#cache.add(fetch.session, page);
      }
      this.#close(fetch);
      this.#give(fetch, isEmpty ? undefined : page);
    } catch (error) {
      // What was read ahead for nobody is asked for when somebody comes.
      if (fetch.waiters.size > 0) this.#tryAgain(fetch, error);
      else this.#close(fetch);
    } finally {
      this.#running -= 1;
      this.#pull();
    }
  }

  #give({ session, waiters, ahead }: Fetch, page: Page | undefined): void {
    if (waiters.size === 0) return;
    if (page !== undefined) {
      // Before anybody is given this one: writing it takes as long as reading the next.
      if (ahead !== undefined) this.#readAhead(session, page.last, ahead);
      this.#runs.gave(session, page, this.#options.clock.now());
    }
    for (const waiter of waiters) this.#ready.set(waiter, page ?? 'gone');
    this.#resume();
  }

  /** Streams stay open while the ledger is away, and hold no connection meanwhile. */
  #tryAgain(fetch: Fetch, error: unknown): void {
    const { clock, log } = this.#options;
    if (fetch.attempt === 0) log.warn({ err: error, session: fetch.session, sequence: fetch.after }, 'a page waits');
    const delayMs = backoffMs(retry, fetch.attempt, clock.random());
    fetch.attempt += 1;
    const timer = clock.after(delayMs, () => {
      this.#retries.delete(fetch);
      this.#line.add(fetch.session, fetch);
      this.#pull();
    });
    this.#retries.set(fetch, timer);
  }

  #close(fetch: Fetch): void {
    const fetches = this.#fetches.get(fetch.session);
    fetches?.delete(fetch);
    if (fetches?.size === 0) this.#fetches.delete(fetch.session);
  }

  #resume(): void {
    if (this.#resuming !== undefined) return;
    const resumeOne = ([waiter, answer]: [Waiter, Answer]) => {
      this.#ready.delete(waiter);
      waiter.done(answer);
    };
    let hasEnded = false;
    const walk = walkInTurns(this.#ready, resumeOne, this.#options.clock, () => {
      hasEnded = true;
      this.#resuming = undefined;
    });
    if (!hasEnded) this.#resuming = walk;
  }
}
