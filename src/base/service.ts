/** The one contract of whatever starts and stops, and the order in which a process does it. */
import { LedgerlineError, toError } from './errors.ts';
import type { Log } from './log.ts';

export interface Service {
  /** For logs: `bus`, `rooms`, `http`. */
  readonly name: string;
  start(): Promise<void>;
  /** Idempotent; finishes what is in flight and lets go of everything, within its own deadline. */
  stop(): Promise<void>;
}

/** Starts in order; when one fails, what had started is stopped in reverse and the failure is thrown. */
export async function startAll(services: readonly Service[], log: Log): Promise<void> {
  const started: Service[] = [];
  for (const service of services) {
    try {
      await service.start();
      started.push(service);
    } catch (error) {
      await stopAll(started, log);
      throw error;
    }
  }
}

/** Stops in reverse order. A service that fails to stop is logged and does not keep the others up. */
export async function stopAll(services: readonly Service[], log: Log): Promise<void> {
  for (const service of services.toReversed()) {
    try {
      await service.stop();
    } catch (error) {
      log.error({ err: error, service: service.name }, 'a service failed to stop');
    }
  }
}

/** Rejects with `unavailable` when `work` has not settled within `deadlineMs`; the work itself goes on, so its owner must cope. */
export async function withDeadline<T>(work: Promise<T>, deadlineMs: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new LedgerlineError('unavailable', `${what} did not answer within ${deadlineMs} ms`)),
      deadlineMs,
    );
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Names the owner of a promise that nobody awaits: its failure is logged here. */
export function detach(work: Promise<unknown>, log: Log, what: string): void {
  work.catch((thrown: unknown) => log.error({ err: toError(thrown) }, what));
}
