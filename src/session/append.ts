/** One append: durable first, broadcast second [I4]. */
import type { Clock } from '../base/clock.ts';
import { LedgerlineError, toError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import type { Broadcast, Bus } from '../bus/bus.ts';
import { envelope } from '../event/event.ts';
import type { NewEvent } from '../event/event.ts';
import { plus } from '../event/sequence.ts';
import type { Sequence } from '../event/sequence.ts';
import type { AppendRequest, Ledger, Outcome } from '../ledger/ledger.ts';
import { eventFrame } from '../sse/frame.ts';

export interface AppendDependencies {
  readonly ledger: Pick<Ledger, 'append'>;
  readonly bus: Pick<Bus, 'publish'>;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly clock: Clock;
}

export async function append(dependencies: AppendDependencies, request: AppendRequest): Promise<Outcome> {
  const { ledger, metrics, clock } = dependencies;
  const startedMs = clock.now();
  let outcome: Outcome;
  try {
    outcome = await ledger.append(request);
  } catch (thrown) {
    metrics.appends.count(thrown instanceof LedgerlineError ? thrown.code : 'internal');
    throw thrown;
  }
  metrics.appends.count(outcome.kind);
  if (outcome.kind === 'fenced') metrics.fencedWrites.inc();
  if (outcome.kind !== 'appended') return outcome;
  metrics.appendSeconds.observe((clock.now() - startedMs) / 1_000);
  metrics.appendedEvents.inc(request.events.length);
  metrics.appendedBytes.inc(bytesOf(request.events));
  broadcast(dependencies, request.session, () => eventsBroadcast(storedRun(request, outcome)));
  return outcome;
}

/**
 * After the commit, and only then [I4]. Fire and forget: a reader that misses it hears from the head check, so nothing
 * that goes wrong here may turn a stored append into a failed one.
 */
export function broadcast(
  { bus, log }: Pick<AppendDependencies, 'bus' | 'log'>,
  session: string,
  make: () => Broadcast,
): void {
  try {
    const said = make();
    bus.publish(session, said);
    if (said.kind === 'events')
      log.debug({ session, first: said.first, last: said.last, bytes: said.frames?.length }, 'broadcast');
  } catch (thrown) {
    log.error({ err: toError(thrown), session }, 'a broadcast failed');
  }
}

type Appended = Extract<Outcome, { kind: 'appended' }>;

const storedRun = ({ events, fence }: AppendRequest, { first, last, at }: Appended): StoredRun => ({
  first,
  last,
  at,
  events: fence === undefined ? events : events.map((event) => ({ ...event, fence })),
});

export const bytesOf = (events: readonly NewEvent[]): number => events.reduce((sum, event) => sum + event.bytes, 0);

/** Events as they were stored, in a row from `first` on. */
export interface StoredRun {
  readonly first: Sequence;
  readonly last: Sequence;
  readonly at: string;
  readonly events: readonly (NewEvent & { readonly fence?: AppendRequest['fence'] })[];
}

/** The frames as every reader will get them, encoded once for all processes; or the range alone when they are large. */
export function eventsBroadcast({ first, last, at, events }: StoredRun): Broadcast {
  const bytes = bytesOf(events);
  // A room reads that much by the page anyway, and no bus is likely to carry it: spared, not encoded in vain.
  if (bytes > limits.pageBytes) return { kind: 'events', first, last };
  const frames = events.map(({ type, data, fence }, index) => {
    const sequence = plus(first, index);
    return eventFrame(sequence, envelope({ sequence, type, at, ...fence, data }));
  });
  return { kind: 'events', first, last, frames: Buffer.from(frames.join('')) };
}
