/** One lane of the commit group: a flush in flight, and what arrives meanwhile goes into the next one together. */
import type { Clock, Timer } from '../base/clock.ts';
import { LedgerlineError } from '../base/errors.ts';
import type { Airspace } from './airspace.ts';
import type { Flight } from './flight.ts';
import { away, flush } from './flush.ts';
import type { FlushOptions, Landed, Lost } from './flush.ts';
import type { Outcome } from './ledger.ts';
import { createWaitingRoom } from './waiting.ts';
import type { GroupBounds, Group, Waiting } from './waiting.ts';

/** An append that somebody waits for. */
export interface Pending extends Waiting {
  answer(outcome: Outcome): void;
  fail(error: LedgerlineError): void;
}

export interface LaneBounds extends GroupBounds {
  readonly skippedFlushes: number;
  readonly headLockWaitMs: number;
  readonly flushDeadlineMs: number;
  /** A flush of fewer lets another lane's land first, for so long at most. */
  readonly smallGroupAppends: number;
  readonly smallGroupWaitMs: number;
  /** How far a fenced append extends its turn's lease. */
  readonly leaseMs: number;
}

export interface LaneOptions {
  readonly flight: Flight;
  readonly airspace: Airspace;
  /** Runs a flush on one of the flights that may wait for a head. */
  readonly alone: (work: (flight: Flight) => Promise<void>) => Promise<void>;
  /** Takes over appends whose fate is not known. */
  readonly onLost: (lost: Lost, appends: readonly Pending[]) => void;
  /** Owns the lane's loops. */
  readonly own: (work: Promise<void>) => void;
  readonly observe: (appends: number) => void;
  readonly bounds: LaneBounds;
  readonly clock: Clock;
}

export interface Lane {
  readonly appends: number;
  readonly bytes: number;
  add(append: Pending): void;
  /** Fails whatever still waits. */
  abandon(error: LedgerlineError): void;
}

export function createLane(options: LaneOptions): Lane {
  const { flight, bounds, clock } = options;
  const waiting = createWaitingRoom<Pending>(bounds);
  /** How many flushes in a row a session's head was held by somebody else. */
  const skipped = new Map<string, number>();
  let isRunning = false;
  /** Appends that were under way or waiting when the last flush landed. */
  let writers = 0;

  function wake(): void {
    if (isRunning) return;
    isRunning = true;
    options.own(run());
  }

  /**
   * A flush costs this process and Postgres as much as ten appends, whatever it carries, and writers come back in a moment: where
   * a flush goes with half of them, the other half waits for it, and so it stays. So a small flush that misses some of them
   * lets another lane's land first. Many fill their lanes, which go side by side; and a lone session waits for nobody [bench].
   */
  const missesSome = (): boolean =>
    waiting.sessions > 1 && waiting.appends < Math.min(writers, bounds.smallGroupAppends);

  async function run(): Promise<void> {
    for (;;) {
      // One turn of the loop, so that those whom the last flush answered can go with the next.
      await new Promise<void>((resolve) => void clock.soon(resolve));
      if (missesSome()) await options.airspace.landing(bounds.smallGroupWaitMs);
      const group = waiting.take();
      if (group.length === 0) break;
      const isHeld = group.some(({ session }) => skipped.has(session));
      const how = { deadlineMs: bounds.flushDeadlineMs, leaseMs: bounds.leaseMs, isHeld };
      await options.airspace.fly(fly(flight, group, how));
    }
    isRunning = false;
  }

  async function fly(carrier: Flight, group: Group<Pending>, how: FlushOptions): Promise<void> {
    const appends = group.flatMap((part) => part.appends);
    options.observe(appends.length);
    const landed = await flush(carrier, appends, how).catch((thrown: unknown): Landed<Pending>[] => {
      const error = new LedgerlineError('internal', 'the append failed', {}, thrown);
      return appends.map((append) => ({ append, fate: { kind: 'failed', error } }));
    });
    if (carrier === flight) writers = appends.length + waiting.appends;
    const skips = new Map<string, Pending[]>();
    const lost = new Map<Lost, Pending[]>();
    for (const { append, fate } of landed) settle(append, fate, skips, lost);
    // Each flush after this one would meet the same closed door, after its own deadline.
    const unsent = landed.map(({ fate }) => fate).find((fate) => fate.kind === 'unsent');
    if (unsent !== undefined && carrier === flight) abandon(away(unsent.error));
    for (const { session } of group) if (!skips.has(session)) skipped.delete(session);
    for (const [session, again] of skips) rideAgain(session, again);
    for (const [loss, concerned] of lost) options.onLost(loss, concerned);
  }

  function settle(
    append: Pending,
    fate: Landed<Pending>['fate'],
    skips: Map<string, Pending[]>,
    lost: Map<Lost, Pending[]>,
  ): void {
    if (fate.kind === 'skipped') gather(skips, append.request.session, append);
    else if (fate.kind === 'lost') gather(lost, fate, append);
    else if (fate.kind === 'failed') append.fail(fate.error);
    else if (fate.kind === 'unsent') append.fail(away(fate.error));
    else append.answer(fate);
  }

  /**
   * A held head is mostly another process's flush, over in a millisecond: the session rides along in the next flushes.
   * Alone at once, two processes that share 100 sessions fell to half [bench]. A head that stays held is waited for
   * apart from the lane, and what arrives for the session meanwhile waits behind it in order [I9].
   */
  function rideAgain(session: string, appends: readonly Pending[]): void {
    waiting.putBack(session, appends);
    const flushes = (skipped.get(session) ?? 0) + 1;
    skipped.set(session, flushes);
    if (flushes < bounds.skippedFlushes) return;
    waiting.hold(session);
    const lineEnds = boundTheLine(session);
    options.own(
      options.alone(async (carrier) => {
        lineEnds.cancel();
        const group = waiting.takeOf(session);
        const waitMs = bounds.headLockWaitMs;
        if (group.length > 0)
          await fly(carrier, group, { deadlineMs: waitMs + bounds.flushDeadlineMs, leaseMs: bounds.leaseMs, waitMs });
        skipped.delete(session);
        waiting.release(session);
        wake();
      }),
    );
  }

  /** The connections that may wait are few: an append stands in line for one no longer than it may wait for its head. */
  function boundTheLine(session: string): Timer {
    let timer: Timer;
    const arm = (): void => {
      timer = clock.after(bounds.headLockWaitMs, () => {
        for (let group = waiting.takeOf(session); group.length > 0; group = waiting.takeOf(session)) {
          for (const append of group.flatMap((part) => part.appends)) append.answer({ kind: 'busy' });
        }
        arm();
      });
    };
    arm();
    return { cancel: () => timer.cancel() };
  }

  function abandon(error: LedgerlineError): void {
    for (const append of waiting.clear()) append.fail(error);
    skipped.clear();
  }

  return {
    get appends() {
      return waiting.appends;
    },
    get bytes() {
      return waiting.bytes;
    },
    add(append) {
      waiting.add(append);
      wake();
    },
    abandon,
  };
}

function gather<K>(groups: Map<K, Pending[]>, key: K, append: Pending): void {
  const group = groups.get(key);
  if (group === undefined) groups.set(key, [append]);
  else group.push(append);
}
