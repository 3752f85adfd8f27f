/** Reads a session over a connection of its own, visit after visit, until there is nothing more to come. */
import { backoffMs } from './backoff.ts';
import { visitStream } from './connection.ts';
import type { Lost } from './connection.ts';
import { pause } from './pause.ts';
import type { Read } from './recipient.ts';
import type { SessionServer } from './session-server.ts';
import type { Surroundings } from './surroundings.ts';
import { whenAborted } from './when-aborted.ts';

export function createStreamReader(server: SessionServer, surroundings: Surroundings): Read {
  const { clock } = surroundings;

  /** Whatever tells that the world has changed cuts the wait short. */
  async function waitForDue(ms: number, signal: AbortSignal): Promise<void> {
    const controller = new AbortController();
    const due = () => controller.abort();
    const stopListening = [surroundings.onWake(due), whenAborted(signal, due)];
    await pause(clock, ms, controller.signal);
    stopListening.forEach((stop) => stop());
  }

  return async (recipient, signal) => {
    let attempt = 0;
    let isMending = false;
    while (!signal.aborted) {
      recipient.connecting();
      const visit = await visitStream(server, surroundings, recipient, signal);
      if (visit.kind !== 'lost') return visit;
      const { cause, waitMs, isExact } = visit;
      const isWell = isWellServed(visit, isMending);
      attempt = isWell ? 0 : attempt + 1;
      isMending = cause === 'fault' || (isMending && !isWell);
      // A wait that was named to the millisecond holds for the first try; in a row such tries must not hammer.
      const inMs = isExact && attempt < 2 ? waitMs : Math.max(waitMs, backoffMs(attempt, clock.random()));
      recipient.waiting(cause, inMs, attempt);
      await waitForDue(inMs, signal);
    }
    return { kind: 'aborted' };
  };
}

/** Whether a visit ends the row of tries in vain. A `hello` does, but not if the next visit may show the same again. */
function isWellServed({ cause, reached }: Lost, isMending: boolean): boolean {
  if (reached === 'steady') return true;
  if (cause === 'fault') return false;
  return reached === 'connected' || (reached === 'hello' && !isMending && cause !== 'token');
}
