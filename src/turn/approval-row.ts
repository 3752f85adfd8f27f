/** The rows of questions: asked once, answered once, by whoever is first. */
import { toSequence } from '../event/sequence.ts';
import type { Sequence } from '../event/sequence.ts';
import type { Statements } from '../db/postgres.ts';
import type { Decision } from './turns.ts';

export interface ApprovalRow {
  readonly turn: string;
  readonly decision: Decision['decision'] | null;
  readonly by: string | null;
  readonly sequence: number | null;
}

export async function readApproval(
  tx: Statements,
  session: string,
  approval: string,
): Promise<ApprovalRow | undefined> {
  const [row] = await tx<ApprovalRow[]>`
    select a.turn_id as turn, a.decision, a.decided_by as by, a.decided_sequence as sequence
      from ledgerline.approval a
     where a.session = ${session}::text and a.approval_id = ${approval}::text`;
  return row;
}

export async function addApproval(
  tx: Statements,
  session: string,
  approval: { readonly id: string; readonly turn: string; readonly sequence: Sequence },
): Promise<void> {
  await tx`
    insert into ledgerline.approval (session, approval_id, turn_id, required_sequence)
    values (${session}::text, ${approval.id}::text, ${approval.turn}::text, ${approval.sequence}::bigint)`;
}

/** Questions of an older attempt that the newer one does not ask any more. */
export async function dropOtherQuestions(
  tx: Statements,
  session: string,
  turn: string,
  asked: readonly string[],
): Promise<void> {
  await tx`
    delete from ledgerline.approval
     where session = ${session}::text and turn_id = ${turn}::text and decision is null
       and not approval_id = any (string_to_array(${asked.join(',')}::text, ','))`;
}

export async function decideApproval(
  tx: Statements,
  session: string,
  { approval, decision, by, comment, sequence }: Decision,
): Promise<void> {
  await tx`
    update ledgerline.approval
       set decision = ${decision}::text, decided_by = ${by}::text, decided_sequence = ${sequence}::bigint,
           comment = ${comment === undefined ? null : JSON.stringify(comment)}::text::json
     where session = ${session}::text and approval_id = ${approval}::text`;
}

export async function hasUndecided(tx: Statements, session: string, turn: string): Promise<boolean> {
  const [row] = await tx<{ has: boolean }[]>`
    select exists (select from ledgerline.approval a
                    where a.session = ${session}::text and a.turn_id = ${turn}::text and a.decision is null) as has`;
  return row?.has === true;
}

/** What a resumed turn gets told. */
export async function readDecisions(tx: Statements, session: string, turn: string): Promise<Decision[]> {
  const rows = await tx<
    { approval: string; decision: Decision['decision']; by: string; comment: string | null; sequence: number }[]
  >`
    select a.approval_id as approval, a.decision, a.decided_by as by, a.comment, a.decided_sequence as sequence
      from ledgerline.approval a
     where a.session = ${session}::text and a.turn_id = ${turn}::text and a.decision is not null
     order by a.decided_sequence`;
  return rows.map((row) => ({ ...row, comment: row.comment ?? undefined, sequence: toSequence(row.sequence) }));
}
