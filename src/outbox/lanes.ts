/** Runs work of many sessions side by side, and of one session in the order in which it came. */
import { toError } from '../base/errors.ts';
import { createGate } from '../base/gate.ts';
import type { Log } from '../base/log.ts';

export interface Lanes {
  /** Resolves when there is room for more; the work itself runs when its turn comes, and must not reject. */
  add(session: string, work: () => Promise<void>): Promise<void>;
  /** Resolves when all that was added has run. */
  idle(): Promise<void>;
}

export function createLanes(options: { readonly atOnce: number; readonly queued: number; readonly log: Log }): Lanes {
  const { atOnce, queued, log } = options;
  /** The last work of each session that has any. */
  const tails = new Map<string, Promise<void>>();
  const inTurn = createGate(atOnce);
  let held = 0;
  let freed: (() => void) | undefined;

  const failed = (thrown: unknown): void =>
    log.error({ err: toError(thrown) }, 'a delivery was not answered for; it comes again');

  return {
    async add(session, work) {
      held += 1;
      const before = tails.get(session) ?? Promise.resolve();
      const tail = before
        .then(() => inTurn(work).catch(failed))
        .finally(() => {
          held -= 1;
          if (tails.get(session) === tail) tails.delete(session);
          freed?.();
        });
      tails.set(session, tail);
      while (held >= queued) await new Promise<void>((resolve) => (freed = resolve));
    },
    async idle() {
      while (tails.size > 0) await Promise.all(tails.values());
    },
  };
}
