/** What a consumer does with a delivery, by its number and by what it knows (pure). */
import type { Delivery } from './delivery.ts';

/** What the consumer has of a session: how far it is, and what it applied at this number, if it still knows. */
export interface Known {
  readonly mark: number | undefined;
  readonly identity: string | undefined;
}

export type Verdict =
  | 'duplicate'
  /** Its tombstone was passed, and a person had it sent all the same. */
  | 'late'
  /** One before it is missing: it comes again, and nothing is ever skipped. */
  | 'hole'
  /** The number was another delivery's: somebody counted wrongly, and neither may be taken for the other. */
  | 'conflict';

/** How the inbox remembers a tombstone: no identity begins so. */
export const TOMBSTONE = '!';

/** How it remembers a delivery of which its number counted, and nothing else: its topic is of others. */
const PASSED = '~';

export const rememberedAs = ({ identity, payload }: Delivery, isPassed = false): string => {
  if (payload === undefined) return TOMBSTONE + identity;
  return isPassed ? PASSED + identity : identity;
};

/** Of a delivery that is not the next one. */
export function verdictOn(delivery: Delivery, { mark, identity }: Known): Verdict {
  if (mark === undefined || delivery.outboxSequence > mark) return 'hole';
  // Forgotten: that is as long ago as the stream keeps anything.
  if (identity === undefined || identity === rememberedAs(delivery)) return 'duplicate';
  if (identity === TOMBSTONE + delivery.identity) return 'late';
  return identity === delivery.identity || identity === PASSED + delivery.identity ? 'duplicate' : 'conflict';
}
