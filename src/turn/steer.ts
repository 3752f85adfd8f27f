/** Messages join the turn that runs, because their sender said that they may. */
import type { Sequence } from '../event/sequence.ts';
import type { Statements } from '../db/postgres.ts';
import { bindRequests, readInputs } from './request-row.ts';
import type { Work } from './transaction.ts';
import { attemptEvent } from './turn-event.ts';
import type { Attempt, Input } from './turns.ts';
import { fenced, lockOwned } from './under-lock.ts';

/** They are the turn's inputs from then on, at every further attempt, too. */
export async function steer(work: Work, attempt: Attempt): Promise<Input[]> {
  const { tx } = work;
  const head = await lockOwned(tx, attempt);
  if (head === undefined) throw fenced();
  const joined = new Set<Sequence>(await bindRequests(tx, attempt.session, attempt.turn, true));
  if (joined.size === 0) return [];
  await work.move(head, { to: 'stays' }, [attemptEvent('turn.steered', attempt, { inputs: [...joined] })]);
  return (await readInputs(tx, attempt.session, attempt.turn)).filter(({ sequence }) => joined.has(sequence));
}

/** Which of these sessions have messages that may join. */
export async function steered(sql: Statements, sessions: readonly string[]): Promise<ReadonlySet<string>> {
  if (sessions.length === 0) return new Set();
  const rows = await sql<{ session: string }[]>`
    select distinct r.session from ledgerline.turn_request r
     where r.session = any (string_to_array(${sessions.join(',')}::text, ',')) and r.status = 'pending' and r.is_steering`;
  return new Set(rows.map((row) => row.session));
}
