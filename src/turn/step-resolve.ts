/** A person says what became of a step that nobody else can tell of, and may have its turn go on. */
import { LedgerlineError } from '../base/errors.ts';
import { storable } from '../event/storable.ts';
import { hasDoubt, readStep, removeStep, settleStep } from '../step/step-row.ts';
import type { NewDelivery } from '../step/step.ts';
import { reopen, requireFree, turnWith } from './operate.ts';
import { deliver } from './step-stored.ts';
import type { Work } from './transaction.ts';
import { turnEvent } from './turn-event.ts';
import { lockKnownHead } from './under-lock.ts';

export interface Verdict {
  /** Undefined: it never happened, and may run. */
  readonly result: string | undefined;
  /** Of what was done. */
  readonly deliveries: readonly NewDelivery[];
  readonly by: string;
  readonly isResumed: boolean;
}

export async function resolve(
  work: Work,
  session: string,
  turn: string,
  index: number,
  { result, deliveries, by: person, isResumed }: Verdict,
): Promise<void> {
  const { tx } = work;
  const by = storable(person);
  const place = { session, turn, index };
  const head = await lockKnownHead(tx, session);
  const found = await readStep(tx, place);
  if (found === undefined) throw new LedgerlineError('step_unknown', 'the turn has no such step');
  if (found.state !== 'in_doubt') {
    throw new LedgerlineError('step_settled', `the step is not in doubt: it is ${found.state}`, { state: found.state });
  }
  // Only now: who asks again, for the answer was lost, hears what came of it, and not that its turn goes on.
  if (isResumed) requireFree(head);

  await (result === undefined ? removeStep(tx, place) : settleStep(tx, place, { result }));
  const { tool, effect } = found;
  const outcome = result === undefined ? 'not_done' : 'done';
  const told = deliveries.length === 0 ? {} : { deliveries: await deliver(work, place, deliveries) };
  const facts = { turn, step: index, tool, effect, by, outcome, ...told };
  // A session that was closed meanwhile takes no more events; the journal has the fact all the same.
  if (head.state === 'open') {
    await work.move(head, { to: 'stays' }, [turnEvent('step.resolved', facts, result === undefined ? {} : { result })]);
  }
  if (!isResumed || (await hasDoubt(tx, session, turn))) return;
  await turnWith(tx, session, turn, ['in_doubt'], 'only a turn in doubt goes on');
  await reopen(work, head, turn, by);
}
