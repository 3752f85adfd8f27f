/** The only polling of the tests: a named condition with a generous deadline, never a sleep. */
import { setTimeout as pause } from 'node:timers/promises';

const POLL_MS = 10;

/**
 * The condition's first value that is neither false nor undefined. A condition that throws has not come true yet; its
 * last error tells why the wait failed.
 */
export async function eventually<T>(
  what: string,
  condition: () => T | Promise<T>,
  deadlineMs = 20_000,
): Promise<Exclude<T, false | undefined | null | void>> {
  const deadline = performance.now() + deadlineMs;
  let cause: unknown;
  do {
    try {
      const value = await condition();
      cause = undefined;
      if (value !== false && value !== undefined && value !== null) {
        return value as Exclude<T, false | undefined | null | void>;
      }
    } catch (error) {
      cause = error;
    }
    await pause(POLL_MS);
  } while (performance.now() < deadline);
  const because = cause instanceof Error ? `: ${cause.message}` : '';
  throw new Error(`waited ${deadlineMs} ms in vain: ${what}${because}`, { cause });
}
