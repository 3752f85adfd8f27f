/** One delivery in one transaction: the mark, the memory of it and the consumer's effect, or none of them. */
import { transaction } from '../db/postgres.ts';
import type { Sql, Statements } from '../db/postgres.ts';
import type { Delivery } from './delivery.ts';
import { bury, moveMark, noteLate, readKnown } from './inbox-row.ts';
import { rememberedAs, verdictOn } from './inbox-verdict.ts';
import type { Verdict } from './inbox-verdict.ts';

export type AppliedDelivery = Delivery & { readonly payload: string };

export interface ApplyOptions {
  readonly consumer: string;
  readonly topics: ReadonlySet<string>;
  readonly startsAnywhere: boolean;
  readonly apply: (tx: Statements, delivery: AppliedDelivery) => Promise<void>;
}

export type Applied =
  | Exclude<Verdict, 'late'>
  | 'applied'
  /** Its number counts, and nothing else: a tombstone, or a topic of others. */
  | 'passed';

const isEffective = (delivery: Delivery, topics: ReadonlySet<string>): delivery is AppliedDelivery =>
  delivery.payload !== undefined && topics.has(delivery.topic);

/** What `apply` throws rolls all of it back. */
export function applyOnce(sql: Sql, delivery: Delivery, options: ApplyOptions): Promise<Applied> {
  const { consumer, topics, startsAnywhere, apply } = options;
  const isItsOwn = isEffective(delivery, topics);
  const memory = rememberedAs(delivery, !isItsOwn);
  return transaction(sql, async (tx) => {
    if (!(await moveMark(tx, consumer, delivery, startsAnywhere, memory))) {
      const verdict = verdictOn(delivery, await readKnown(tx, consumer, delivery));
      if (verdict === 'conflict') await bury(tx, consumer, delivery, 'its number was another delivery’s');
      if (verdict !== 'late') return verdict;
      if (!(await noteLate(tx, consumer, delivery, memory))) return 'duplicate';
    }
    if (!isItsOwn) return 'passed';
    await apply(tx, delivery);
    return 'applied';
  });
}

/** Passes one that cannot be applied, and keeps it for a person. By anything but `applied` somebody else was first. */
export function passDead(
  sql: Sql,
  delivery: Delivery,
  options: Omit<ApplyOptions, 'apply'>,
  message: string,
): Promise<Applied> {
  return applyOnce(sql, delivery, {
    ...options,
    apply: (tx) => bury(tx, options.consumer, delivery, message),
  });
}
