/** Reads the pages of a session that lie before what is held. */
import type { SessionEvent } from './session-event.ts';
import type { SessionServer } from './session-server.ts';
import { whenAborted } from './when-aborted.ts';

export interface LoadBackOptions {
  readonly signal?: AbortSignal | undefined;
  /** After each page: how many of the events that lie between have come. */
  readonly onProgress?: ((loaded: number, wanted: number) => void) | undefined;
}

export interface BackRange {
  /** The first event that is held. */
  readonly first: number;
  /** The page that holds this one is the last that is read. */
  readonly target: number;
  readonly floor: number;
  /** Events of a page. */
  readonly limit: number;
  readonly signals: readonly (AbortSignal | undefined)[];
  readonly onProgress: LoadBackOptions['onProgress'];
}

export interface Back {
  /** Ascending, and the last one lies just before `first`. */
  readonly older: readonly SessionEvent[];
  readonly floor: number;
  /** What ended it too early, unless that was a signal. */
  readonly failure?: { readonly cause: unknown };
}

/** Never rejects: what has come is kept. */
export async function readBack(server: SessionServer, range: BackRange): Promise<Back> {
  const { first: from, target, limit, signals, onProgress } = range;
  const stopping = new AbortController();
  const stops = signals.map((signal) => whenAborted(signal, () => stopping.abort()));
  let { first, floor } = range;
  let older: readonly SessionEvent[] = [];
  let failure: Back['failure'];
  try {
    while (first > target && first > floor + 1 && !stopping.signal.aborted) {
      const page = await server.history({ before: first, limit }, stopping.signal);
      older = page.events.concat(older);
      floor = page.first === null ? first - 1 : page.floor;
      first = page.first ?? first;
      onProgress?.(from - Math.max(first, target), from - target);
    }
  } catch (cause) {
    if (!stopping.signal.aborted) failure = { cause };
  }
  stops.forEach((stop) => stop());
  return failure === undefined ? { older, floor } : { older, floor, failure };
}
