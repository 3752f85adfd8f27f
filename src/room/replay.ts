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
import { eventLayout, frameEnds } from '../sse/frame.ts';
import { PageCache, blockOf, cutPage, holds } from './page-cache.ts';
import type { CutPage } from './page-cache.ts';
import { walkInTurns } from './turns.ts';

/** A page, or `gone`: the ledger no longer has the event that follows. */
export type Answer = CutPage | 'gone';

/** A reader's wait for a page. */
export interface Ask {
  cancel(): void;
}

interface Waiter extends Ask {
  readonly done: (answer: Answer) => void;
}

/** One read for everybody in `waiters`; in line, under way, or waiting for its next try. */
interface Fetch {
  readonly session: string;
  readonly after: Cursor;
  readonly to: Cursor;
  readonly waiters: Set<Waiter>;
  attempt: number;
  isForgotten: boolean;
}

const retry = { firstMs: limits.pageRetryMs, capMs: limits.pageRetryCapMs };

/**
 * Retention or a deletion may have taken rows under the reader: a page that begins late or has a hole is nobody's [I3].
 * As many different sequences in (after, last] as that has places leave none out.
 */
function isContiguous(page: Page): boolean {
  const count = frameEnds(page.bytes).length;
  return count > 0 && count === page.last - page.after;
}

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
  /** Fetches that wait for a connection. One session's come one by one, between those of others [I9]. */
  readonly #line = new Map<string, Fetch[]>();
  #running = 0;
  readonly #retries = new Map<Fetch, Timer>();
  /** Waiters whose page has come, resumed in turns. */
  readonly #ready = new Map<Waiter, Answer>();
  #resuming: Timer | undefined;

  constructor(options: ReplayOptions) {
    this.#options = options;
    this.#cache = options.cache ?? new PageCache();
  }

  /** The page that holds what follows `cursor`, when it is at hand. */
  find(session: string, cursor: Cursor): CutPage | undefined {
    const page = this.#cache.find(session, cursor);
    if (page !== undefined) this.#options.metrics.pages.inc({ source: 'shared' });
    return page;
  }

  /**
   * Asks for what follows `cursor`, at most up to `watermark`, which makes every page immutable. While the ledger is
   * away the ask stays and is tried again. The page that comes may end before `cursor`: the reader asks again.
   */
  ask(session: string, cursor: Cursor, watermark: Cursor, done: (answer: Answer) => void): Ask {
    const fetches = this.#fetches.get(session) ?? new Set();
    this.#fetches.set(session, fetches);
    let fetch = [...fetches].find((other) => holds({ after: other.after, last: other.to }, cursor));
    if (fetch === undefined) {
      const blockEnd = toCursor((blockOf(cursor) + 1) * limits.pageRows);
      const to = blockEnd < watermark ? blockEnd : watermark;
      fetch = { session, after: cursor, to, waiters: new Set(), attempt: 0, isForgotten: false };
      fetches.add(fetch);
      this.#enqueue(fetch);
    } else this.#options.metrics.pages.inc({ source: 'shared' });
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

  #enqueue(fetch: Fetch): void {
    const line = this.#line.get(fetch.session);
    if (line === undefined) this.#line.set(fetch.session, [fetch]);
    else line.push(fetch);
  }

  /** The session that has waited longest gives one fetch and goes to the end. */
  #dequeue(): Fetch | undefined {
    for (const [session, line] of this.#line) {
      this.#line.delete(session);
      const fetch = line.shift();
      if (line.length > 0) this.#line.set(session, line);
      if (fetch !== undefined) return fetch;
    }
    return undefined;
  }

  #pull(): void {
    while (this.#running < limits.replayConnections) {
      const fetch = this.#dequeue();
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
      const cut = isContiguous(page) ? cutPage(page) : undefined;
      // A page that ends early for no reason lost its rows to a deletion or a restore: nobody else shall have it.
      if (cut !== undefined && !fetch.isForgotten && (page.last === fetch.to || page.cut !== 'end')) {
        this.#cache.add(fetch.session, cut);
      }
      this.#close(fetch);
      for (const waiter of fetch.waiters) this.#ready.set(waiter, cut ?? 'gone');
      this.#resume();
    } catch (error) {
      this.#tryAgain(fetch, error);
    } finally {
      this.#running -= 1;
      this.#pull();
    }
  }

  /** Streams stay open while the ledger is away, and hold no connection meanwhile. */
  #tryAgain(fetch: Fetch, error: unknown): void {
    const { clock, log } = this.#options;
    if (fetch.attempt === 0) log.warn({ err: error, session: fetch.session, sequence: fetch.after }, 'a page waits');
    const delayMs = backoffMs(retry, fetch.attempt, clock.random());
    fetch.attempt += 1;
    const timer = clock.after(delayMs, () => {
      this.#retries.delete(fetch);
      this.#enqueue(fetch);
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
