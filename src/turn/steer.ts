/** Messages join the turn that runs, because their sender said that they may. */
import type { Sequence } from '../event/sequence.ts';
import type { Statements } from '../db/postgres.ts';
import { bindSteering, inputSequences, readInputs } from './request-row.ts';
import { journalInput } from './step-input.ts';
import type { Work } from './transaction.ts';
import { attemptEvent } from './turn-event.ts';
import type { Attempt, Input } from './turns.ts';
import { fenced, lockOwned } from './under-lock.ts';

/**
 * They are the turn's inputs from then on, at every further attempt, too. What lies beyond `after` joined before, by a request
 * whose answer was lost: it is answered again, or the agent would never hear of it [I10].
 */
export async function steer(work: Work, attempt: Attempt, after = Infinity): Promise<Input[]> {
  const { tx } = work;
  const { session, turn } = attempt;
  const head = await lockOwned(tx, attempt);
  if (head === undefined) throw fenced();
  const joined = new Set<Sequence>(await bindSteering(tx, session, turn));
  if (joined.size > 0) {
    await work.move(head, { to: 'stays' }, [attemptEvent('turn.steered', attempt, { inputs: [...joined] })]);
    await journalInput(tx, { session, turn, fence: attempt.attempt }, { steered: [...joined] });
  }
  const isUnheard = (sequence: Sequence): boolean => joined.has(sequence) || sequence > after;
  if (!(await inputSequences(tx, session, turn)).some(isUnheard)) return [];
  return (await readInputs(tx, session, turn)).filter(({ sequence }) => isUnheard(sequence));
}

/** Which of these sessions have messages that may join. */
export async function steered(sql: Statements, sessions: readonly string[]): Promise<ReadonlySet<string>> {
  if (sessions.length === 0) return new Set();
  const rows = await sql<{ session: string }[]>`
    select distinct r.session from ledgerline.turn_request r
     where r.session = any (string_to_array(${sessions.join(',')}::text, ',')) and r.status = 'pending' and r.is_steering`;
  return new Set(rows.map((row) => row.session));
}
