/** The appends that wait for a flush, session by session, and which of them go next (pure). */
import { limits } from '../base/limits.ts';
import type { AppendRequest } from './ledger.ts';

/** An append on its way, with what its owner needs to answer it. */
export interface Waiting {
  readonly request: AppendRequest;
  /** Of its payloads. */
  readonly bytes: number;
}

/** What one flush carries: sessions in ascending order, and inside each its appends in order of arrival. */
export type Group<W extends Waiting> = readonly { readonly session: string; readonly appends: readonly W[] }[];

export interface GroupBounds {
  readonly groupAppends: number;
  readonly groupEvents: number;
  readonly groupBytes: number;
}

export interface WaitingRoom<W extends Waiting> {
  readonly appends: number;
  readonly bytes: number;
  readonly sessions: number;
  add(append: W): void;
  /** Everything that fits one flush, at least one append if one may go; fair to sessions when not all of it fits. */
  take(): Group<W>;
  /** The same for one session alone. */
  takeOf(session: string): Group<W>;
  /** Appends that were taken and must go again, before what arrived later. */
  putBack(session: string, appends: readonly W[]): void;
  /** While held, a session's appends wait and are not taken. */
  hold(session: string): void;
  release(session: string): void;
  /** Empties the room. */
  clear(): W[];
}

export function createWaitingRoom<W extends Waiting>(bounds: GroupBounds = limits): WaitingRoom<W> {
  /** Insertion order is the order of service: a session that was served and still waits goes to the end. */
  const queues = new Map<string, W[]>();
  const held = new Set<string>();
  let appends = 0;
  let bytes = 0;

  const count = (append: W, sign: 1 | -1): void => {
    appends += sign;
    bytes += sign * append.bytes;
  };

  /**
   * One append of each session and then the next of each, so that a session with thousands waiting leaves room for the
   * others [I9]. A session's turn in this flush is over at an append that reaches back behind a counter which the flush
   * already holds: whether it repeats that one can only be told when it is stored.
   */
  function takeFrom(sessions: string[]): Group<W> {
    const taken = new Map<string, W[]>();
    const counters = new Map<string, number>();
    let [size, events, payload] = [0, 0, 0];

    function fits(append: W): boolean {
      if (size === 0) return true;
      return (
        size < bounds.groupAppends &&
        events + append.request.events.length <= bounds.groupEvents &&
        payload + append.bytes <= bounds.groupBytes
      );
    }
    function reachesBack({ session, producer, events: { length } }: AppendRequest): boolean {
      if (producer === undefined) return false;
      const key = `${session} ${producer.id}`;
      if (producer.sequence < (counters.get(key) ?? 0)) return true;
      counters.set(key, producer.sequence + length);
      return false;
    }

    let open = sessions;
    for (let round = 0; open.length > 0; round++) {
      const next: string[] = [];
      for (const session of open) {
        const append = queues.get(session)?.[round];
        if (append === undefined || !fits(append) || reachesBack(append.request)) continue;
        const already = taken.get(session);
        if (already === undefined) taken.set(session, [append]);
        else already.push(append);
        size += 1;
        events += append.request.events.length;
        payload += append.bytes;
        next.push(session);
      }
      open = next;
    }

    for (const [session, gone] of taken) {
      const rest = queues.get(session)?.slice(gone.length) ?? [];
      queues.delete(session);
      if (rest.length > 0) queues.set(session, rest);
      for (const append of gone) count(append, -1);
    }
    return Array.from(taken, ([session, gone]) => ({ session, appends: gone })).toSorted((a, b) =>
      a.session < b.session ? -1 : 1,
    );
  }

  return {
    get appends() {
      return appends;
    },
    get bytes() {
      return bytes;
    },
    get sessions() {
      return queues.size;
    },
    add(append) {
      const queue = queues.get(append.request.session);
      if (queue === undefined) queues.set(append.request.session, [append]);
      else queue.push(append);
      count(append, 1);
    },
    take() {
      const ready: string[] = [];
      for (const session of queues.keys()) {
        if (!held.has(session)) ready.push(session);
        if (ready.length === bounds.groupAppends) break;
      }
      return takeFrom(ready);
    },
    takeOf: (session) => takeFrom([session]),
    putBack(session, back) {
      queues.set(session, [...back, ...(queues.get(session) ?? [])]);
      for (const append of back) count(append, 1);
    },
    hold: (session) => void held.add(session),
    release: (session) => void held.delete(session),
    clear() {
      const all = [...queues.values()].flat();
      queues.clear();
      appends = bytes = 0;
      return all;
    },
  };
}
