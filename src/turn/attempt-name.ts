/** How lines of the log name an attempt, so that those of a server and of a worker are found together (pure). */
import { traceIdOf } from '../event/trace.ts';
import type { ClaimedTurn } from './turns.ts';

export function attemptName({ session, turn, attempt, tryNumber, traceparent }: ClaimedTurn) {
  const traceId = traceparent === undefined ? {} : { traceId: traceIdOf(traceparent) };
  return { session, turn, attempt, try: tryNumber, ...traceId };
}
