/** One group through one flight: by the plain statement or the stamp, in halves where its content is refused. */
import { LedgerlineError } from '../base/errors.ts';
import { isUnavailable, sqlState } from '../db/postgres.ts';
import { appendRun, isOneRun } from './append-statement.ts';
import type { Flight, Landing } from './flight.ts';
import { parseReceipt, verdicts, verdictsInARow } from './receipt.ts';
import type { Verdict } from './receipt.ts';
import { stamp } from './stamp.ts';
import type { Waiting } from './waiting.ts';

export type Lost = Extract<Landing<unknown>, { kind: 'lost' }>;
export type Unsent = Extract<Landing<unknown>, { kind: 'unsent' }>;

/** What became of an append in a flush; `failed` stored nothing. */
export type Fate = Verdict | Lost | Unsent | { readonly kind: 'failed'; readonly error: LedgerlineError };

export interface Landed<W extends Waiting> {
  readonly append: W;
  readonly fate: Fate;
}

export interface FlushOptions {
  readonly deadlineMs: number;
  /** How far a fenced append extends its turn's lease. */
  readonly leaseMs: number;
  /** Wait so long for a held head; without it held heads are skipped. */
  readonly waitMs?: number;
  /** A head of this group was held a moment ago, so the plain statement would only ask in vain. */
  readonly isHeld?: boolean;
}

/** A serialization failure stored nothing; it can only meet us where the server overrules READ COMMITTED. */
const SERIALIZATION_TRIES = 5;

/** Appends come sorted by session, in order of arrival inside each. */
export async function flush<W extends Waiting>(
  flight: Flight,
  appends: readonly W[],
  options: FlushOptions,
): Promise<Landed<W>[]> {
  const requests = appends.map((append) => append.request);
  const all = (fate: Fate): Landed<W>[] => appends.map((append) => ({ append, fate }));
  const each = (fates: readonly Fate[]): Landed<W>[] =>
    appends.map((append, index) => ({ append, fate: fates[index] as Fate }));

  const isOneSession = requests[0]?.session === requests.at(-1)?.session;
  if (isOneSession && options.waitMs === undefined && options.isHeld !== true && isOneRun(requests)) {
    const landing = await flight.send((sql) => appendRun(sql, requests, options.leaseMs), options.deadlineMs);
    if (landing.kind === 'lost' || landing.kind === 'unsent') return all(landing);
    if (landing.kind === 'answered' && landing.value !== undefined) {
      return each(verdictsInARow(parseReceipt(landing.value), requests));
    }
    // No row, or an error: the stamp tells what it was.
  }

  for (let tries = 1; ; tries++) {
    const landing = await flight.send(
      (sql) => stamp(sql, requests, options.waitMs, options.leaseMs),
      options.deadlineMs,
    );
    if (landing.kind === 'answered') return each(verdicts(parseReceipt(landing.value), requests));
    if (landing.kind !== 'refused') return all(landing);
    const refusal = judgeRefusal(landing.error);
    if (refusal.kind === 'again' && tries < SERIALIZATION_TRIES) continue;
    if (refusal.kind === 'again') return all({ kind: 'failed', error: away(landing.error) });
    if (refusal.kind === 'refused' && appends.length > 1) return flushHalves(flight, appends, options);
    return all(refusal);
  }
}

type Refusal = Extract<Fate, { kind: 'refused' | 'busy' | 'failed' }> | { readonly kind: 'again' };

/** What the server's error means for the appends of the statement. */
function judgeRefusal(error: Error): Refusal {
  const state = sqlState(error) ?? '';
  if (state === '55P03') return { kind: 'busy' };
  if (/^(?:22|23|54)/.test(state)) return { kind: 'refused', reason: error.message };
  if (state.startsWith('40')) return { kind: 'again' };
  if (isUnavailable(error)) return { kind: 'failed', error: away(error) };
  return { kind: 'failed', error: new LedgerlineError('internal', 'the append failed', {}, error) };
}

export const away = (cause: Error): LedgerlineError =>
  new LedgerlineError('unavailable', 'Postgres is away; nothing was stored', {}, cause);

/**
 * One append's content was refused, so its half is refused and the other is not: down to the one [I9]. A session whose
 * head was held in the first half does not move in the second, or its appends would change places.
 */
async function flushHalves<W extends Waiting>(
  flight: Flight,
  appends: readonly W[],
  options: FlushOptions,
): Promise<Landed<W>[]> {
  const middle = appends.length >> 1;
  const first = await flush(flight, appends.slice(0, middle), options);
  const held = new Set(first.filter(({ fate }) => fate.kind === 'skipped').map(({ append }) => append.request.session));
  const rest = appends.slice(middle);
  const behind = rest.filter((append) => held.has(append.request.session));
  const free = rest.filter((append) => !held.has(append.request.session));
  return [
    ...first,
    ...behind.map((append): Landed<W> => ({ append, fate: { kind: 'skipped' } })),
    ...(free.length > 0 ? await flush(flight, free, options) : []),
  ];
}
