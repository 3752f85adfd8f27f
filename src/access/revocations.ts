/** Knows what was revoked, from a look at the table every two seconds, and cuts the streams that it is about. */
import { accessLimits } from '../base/access-limits.ts';
import type { Clock, Timer } from '../base/clock.ts';
import { LedgerlineError, toError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import { detach } from '../base/service.ts';
import type { Service } from '../base/service.ts';
import type { RevocationOrder, RevocationPage, RevocationPlace } from './revocation-row.ts';
import { RevocationSet } from './revocation-set.ts';
import type { Revocation, TokenIdentity } from './revocation-set.ts';

/** Where they are kept. */
export interface RevocationStore {
  revoke(order: RevocationOrder): Promise<Revocation>;
  read(place: RevocationPlace | undefined): Promise<RevocationPage>;
  forget(): Promise<void>;
  close(): Promise<void>;
}

export interface Revocations {
  /** As a whole. Throws `unavailable` as long as nothing is known, at a start without the database. */
  isRevoked(identity: TokenIdentity): boolean;
  isRevokedIn(identity: TokenIdentity, session: string): boolean;
  /** Calls once when the token no longer holds for the session, at once if it does not already. The answer lets go. */
  watch(identity: TokenIdentity, session: string, onRevoked: () => void): () => void;
  /** Resolves when it is stored and this gateway lets nobody in by what was revoked; open streams end within a second. */
  revoke(order: RevocationOrder): Promise<Revocation>;
}

export interface RevocationsOptions {
  readonly store: RevocationStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

interface Watch {
  readonly identity: TokenIdentity;
  readonly session: string;
  readonly onRevoked: () => void;
}

const SECOND_MS = 1_000;

export const createRevocations = (options: RevocationsOptions): Revocations & Service => new PolledRevocations(options);

class PolledRevocations implements Revocations, Service {
  readonly name = 'revocations';
  readonly #options: RevocationsOptions;
  readonly #watches = new Set<Watch>();
  #known: RevocationSet | undefined;
  #place: RevocationPlace | undefined;
  /** Taken here since the table began to be read: what is read may be from before them. */
  #taken: Revocation[] = [];
  #reading: Promise<void> | undefined;
  #timer: Timer | undefined;
  #forgetting: Timer | undefined;
  #cutting: Timer | undefined;
  /** When the table was last read to its end; undefined while it cannot be. */
  #failingSinceMs: number | undefined;
  #isStopped = false;

  constructor(options: RevocationsOptions) {
    this.#options = options;
  }

  /** A start without the database goes on: nothing can be read of it then, either. */
  async start(): Promise<void> {
    await this.#poll();
    this.#forgetLater();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#forgetting?.cancel();
    this.#cutting?.cancel();
    await this.#reading;
    await this.#options.store.close();
  }

  isRevoked(identity: TokenIdentity): boolean {
    return this.#set.covers(identity);
  }

  isRevokedIn(identity: TokenIdentity, session: string): boolean {
    return this.#set.coversIn(identity, session);
  }

  watch(identity: TokenIdentity, session: string, onRevoked: () => void): () => void {
    const watch = { identity, session, onRevoked };
    if (this.#isOver(watch)) onRevoked();
    else this.#watches.add(watch);
    return () => void this.#watches.delete(watch);
  }

  async revoke(order: RevocationOrder): Promise<Revocation> {
    const revocation = await this.#options.store.revoke(order);
    this.#taken.push(revocation);
    this.#known?.add(revocation);
    this.#cutSoon();
    return revocation;
  }

  get #set(): RevocationSet {
    if (this.#known !== undefined) return this.#known;
    throw new LedgerlineError('unavailable', 'what was revoked is not known yet: Postgres is away');
  }

  #isOver({ identity, session }: Watch): boolean {
    return this.#set.covers(identity) || this.#set.coversIn(identity, session);
  }

  /**
   * When the second is over: a token tells no less of when it was issued, and whoever is cut comes back with one at once, which
   * must count as issued behind the revocation.
   */
  #cutSoon(): void {
    const { clock } = this.#options;
    this.#cutting ??= clock.after(SECOND_MS - (clock.wall() % SECOND_MS), () => {
      this.#cutting = undefined;
      this.#cut();
    });
  }

  /** In one turn of the loop, so that nothing is written to a stream between the news and its end. */
  #cut(): void {
    for (const watch of this.#watches) {
      if (!this.#isOver(watch)) continue;
      this.#watches.delete(watch);
      watch.onRevoked();
    }
  }

  async #poll(): Promise<void> {
    this.#reading = this.#read();
    await this.#reading;
    if (this.#isStopped) return;
    this.#timer = this.#options.clock.after(accessLimits.revocationPollMs, () =>
      detach(this.#poll(), this.#options.log, 'a look at the revocations ended unexpectedly'),
    );
  }

  async #read(): Promise<void> {
    const { clock, metrics } = this.#options;
    try {
      await this.#readOn();
      this.#noteFailure(undefined);
    } catch (error) {
      this.#noteFailure(error);
    }
    this.#known?.forget(clock.wall());
    metrics.revocations.set(this.#known?.size ?? 0);
  }

  /** What is known stays in force until all of what replaces it is read. */
  async #readOn(): Promise<void> {
    this.#taken = [];
    let known = this.#known;
    let place = known === undefined ? undefined : this.#place;
    let isNews = false;
    for (;;) {
      const page = await this.#options.store.read(place);
      if (!page.isContinuous) {
        known = undefined;
        place = undefined;
        continue;
      }
      known ??= new RevocationSet();
      isNews ||= page.place?.number !== place?.number;
      for (const revocation of page.revocations) known.add(revocation);
      place = page.place;
      if (!page.isLast) continue;
      for (const revocation of this.#taken) known.add(revocation);
      const isChanged = isNews || known !== this.#known;
      this.#known = known;
      this.#place = place;
      if (isChanged) this.#cutSoon();
      return;
    }
  }

  /** One line when it begins and one when it is over; the gauge says how old the last word is. */
  #noteFailure(error: unknown): void {
    const { clock, log, metrics } = this.#options;
    if (error === undefined) {
      if (this.#failingSinceMs !== undefined) log.info('revocations can be read again');
      this.#failingSinceMs = undefined;
      metrics.revocationsStaleSeconds.set(0);
      return;
    }
    if (this.#failingSinceMs === undefined) {
      log.warn({ err: toError(error) }, 'revocations cannot be read; those that are known stay in force');
      this.#failingSinceMs = clock.now();
    }
    metrics.revocationsStaleSeconds.set((clock.now() - this.#failingSinceMs) / 1_000);
  }

  /** Jittered, so that the gateways do not all remove the same. */
  #forgetLater(): void {
    const { clock, log, store } = this.#options;
    this.#forgetting = clock.after(accessLimits.revocationForgetMs * (0.5 + clock.random()), () => {
      const forgetting = store.forget().catch((thrown: unknown) => {
        log.warn({ err: toError(thrown) }, 'old revocations could not be removed; it will be tried again');
      });
      detach(
        forgetting.then(() => {
          if (!this.#isStopped) this.#forgetLater();
        }),
        log,
        'removing old revocations ended unexpectedly',
      );
    });
  }
}
