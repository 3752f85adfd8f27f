/** The rows of steps: written once at an index of the journal's own counting, settled once. */
import type { Statements } from '../db/postgres.ts';
import type { EffectClass, JournaledStep, StepKind, StepState } from './step.ts';

/** Where a step is. */
export interface Place {
  readonly session: string;
  readonly turn: string;
  readonly index: number;
}

type Row = { readonly [Key in keyof JournaledStep]: Exclude<JournaledStep[Key], undefined> | null };

const columns = (tx: Statements) => tx`
  s.step_index as index, s.kind, s.state, s.tool, s.effect, s.reserved, encode(s.request_hash, 'hex') as "requestHash",
  s.request::text as request, s.result::text as result, s.error, s.fence,
  coalesce(s.key_expires_at < clock_timestamp(), false) as "isKeyExpired",
  ledgerline.utc_text(s.started_at) as "startedAt", ledgerline.utc_text(s.ended_at) as "endedAt"`;

const toStep = (row: Row): JournaledStep =>
  ({
    ...row,
    tool: row.tool ?? undefined,
    effect: row.effect ?? undefined,
    request: row.request ?? undefined,
    result: row.result ?? undefined,
    error: row.error ?? undefined,
    endedAt: row.endedAt ?? undefined,
  }) as JournaledStep;

/** Read it after the head's lock, which guards all rows but those that a transactional tool has not committed yet. */
export async function readStep(tx: Statements, { session, turn, index }: Place): Promise<JournaledStep | undefined> {
  const [row] = await tx<Row[]>`
    select ${columns(tx)} from ledgerline.step s
     where s.session = ${session}::text and s.turn_id = ${turn}::text and s.step_index = ${index}::int`;
  return row && toStep(row);
}

export async function readSteps(tx: Statements, session: string, turn: string): Promise<JournaledStep[]> {
  const rows = await tx<Row[]>`
    select ${columns(tx)} from ledgerline.step s
     where s.session = ${session}::text and s.turn_id = ${turn}::text
     order by s.step_index`;
  return rows.map(toStep);
}

/** The calls that were begun and not settled, by whichever attempt. By an index on just those. */
export async function readStarted(tx: Statements, session: string, turn: string): Promise<JournaledStep[]> {
  const rows = await tx<Row[]>`
    select ${columns(tx)} from ledgerline.step s
     where s.session = ${session}::text and s.turn_id = ${turn}::text and s.state = 'started'
     order by s.step_index`;
  return rows.map(toStep);
}

export async function hasDoubt(tx: Statements, session: string, turn: string): Promise<boolean> {
  const [row] = await tx<{ has: boolean }[]>`
    select exists (select from ledgerline.step s
                    where s.session = ${session}::text and s.turn_id = ${turn}::text and s.state = 'in_doubt') as has`;
  return row?.has === true;
}

/** Whether the turn has, or may have, changed something outside its journal. */
export async function hasEffects(tx: Statements, session: string, turn: string): Promise<boolean> {
  const [row] = await tx<{ has: boolean }[]>`
    select exists (select from ledgerline.step s
                    where s.session = ${session}::text and s.turn_id = ${turn}::text and s.kind = 'tool'
                      and s.effect <> 'read' and s.state <> 'failed') as has`;
  return row?.has === true;
}

/** The oldest first. */
export async function readDoubts(
  sql: Statements,
  limit: number,
): Promise<(JournaledStep & { readonly session: string; readonly turn: string })[]> {
  const rows = await sql<(Row & { readonly session: string; readonly turn: string })[]>`
    select s.session, s.turn_id as turn, ${columns(sql)} from ledgerline.step s
     where s.state = 'in_doubt'
     order by s.started_at, s.session, s.step_index
     limit ${limit}::int`;
  return rows.map((row) => ({ ...toStep(row), session: row.session, turn: row.turn }));
}

export interface NewStep {
  readonly kind: StepKind;
  readonly state: StepState;
  readonly fence: number;
  readonly hash: string;
  readonly request: string | undefined;
  readonly tool?: string;
  readonly effect?: EffectClass;
  readonly reserved?: number;
  readonly result?: string;
  /** From now on; of a keyed effect. */
  readonly keySeconds?: number | undefined;
}

/** The first index that nothing has, and no answer of a model has reserved. By the index from its end: a long journal is not read. */
const nextIndex = (tx: Statements, session: string, turn: string) => tx`
  1 + greatest(
    coalesce((select s.step_index from ledgerline.step s
               where s.session = ${session}::text and s.turn_id = ${turn}::text
               order by s.step_index desc limit 1), -1),
    coalesce((select s.step_index + s.reserved from ledgerline.step s
               where s.session = ${session}::text and s.turn_id = ${turn}::text and s.kind = 'model'
               order by s.step_index desc limit 1), -1))`;

/**
 * Whether a call may be at an index that has none. Right behind a step it is the next free one, or a model's answer has reserved it, or a
 * person has removed what was there; else it is one that an answer before it has reserved, or the first behind those.
 */
const mayCallAt = (tx: Statements, { session, turn, index }: Place) => tx`
  ${index}::int = 0
    or exists (select from ledgerline.step p
                where p.session = ${session}::text and p.turn_id = ${turn}::text and p.step_index = ${index - 1}::int)
    or ${index - 1}::int <= (
      select m.step_index + m.reserved from ledgerline.step m
       where m.session = ${session}::text and m.turn_id = ${turn}::text and m.kind = 'model' and m.step_index < ${index}::int
       order by m.step_index desc limit 1)`;

/**
 * Writes a step where one may be: at the next free index, or, a call, at one that a model's answer has reserved. False: there
 * is a step, or the index is not to be used yet, or there is no such turn. Waits for a transaction that writes the same one.
 */
export async function insertStep(tx: Statements, place: Place, step: NewStep): Promise<boolean> {
  const { session, turn, index } = place;
  const mayBeHere = step.kind === 'tool' ? mayCallAt(tx, place) : tx`${index}::int = ${nextIndex(tx, session, turn)}`;
  const inserted = await tx`
    insert into ledgerline.step (session, turn_id, step_index, kind, state, fence, request_hash, request, tool, effect, reserved,
                                 result, ended_at, key_expires_at)
    select t.session, t.turn_id, ${index}::int, ${step.kind}::text, ${step.state}::text, ${step.fence}::bigint, decode(${step.hash}::text, 'hex'),
           ${step.request ?? null}::text::json, ${step.tool ?? null}::text, ${step.effect ?? null}::text, ${step.reserved ?? 0}::int,
           ${step.result ?? null}::text::json,
           case when ${step.state}::text in ('done', 'failed') then clock_timestamp() end,
           clock_timestamp() + ${step.keySeconds ?? null}::int * interval '1 second'
      from ledgerline.turn t
     where t.session = ${session}::text and t.turn_id = ${turn}::text and (${mayBeHere})
        on conflict (session, turn_id, step_index) do nothing
    returning 1`;
  return inserted.length > 0;
}

/** Something came from outside while the turn was under way: at the next free index, whichever that is. */
export async function insertInput(
  tx: Statements,
  { session, turn, fence }: { readonly session: string; readonly turn: string; readonly fence: number },
  input: { readonly hash: string; readonly result: string },
): Promise<void> {
  const inserted = await tx`
    insert into ledgerline.step (session, turn_id, step_index, kind, state, fence, request_hash, result, ended_at)
    select ${session}::text, ${turn}::text, ${nextIndex(tx, session, turn)}, 'input', 'done', ${fence}::bigint,
           decode(${input.hash}::text, 'hex'), ${input.result}::text::json, clock_timestamp()
        on conflict (session, turn_id, step_index) do nothing
    returning 1`;
  // A call took the index in the meantime; its row is seen now.
  if (inserted.length === 0) await insertInput(tx, { session, turn, fence }, input);
}

/** What came of a call; a JSON text each. `fence`: of the attempt that says so, when another may be at it. */
export async function settleStep(
  tx: Statements,
  { session, turn, index }: Place,
  outcome: { readonly result: string } | { readonly error: string },
  fence?: number,
): Promise<void> {
  const isDone = 'result' in outcome;
  await tx`
    update ledgerline.step
       set state = ${isDone ? 'done' : 'failed'}::text, ended_at = clock_timestamp(),
           result = ${isDone ? outcome.result : null}::text::json, error = ${isDone ? null : outcome.error}::text::json,
           fence = coalesce(${fence ?? null}::bigint, fence)
     where session = ${session}::text and turn_id = ${turn}::text and step_index = ${index}::int
       and state in ('started', 'in_doubt')`;
}

/** The same within the statement that moves the head: nothing is settled for an attempt that does not own its turn. */
export function settling(
  tx: Statements,
  { session, turn, index }: Place,
  outcome: { readonly result: string } | { readonly error: string },
) {
  const isDone = 'result' in outcome;
  return tx`, settled as (
      update ledgerline.step s
         set state = ${isDone ? 'done' : 'failed'}::text, ended_at = clock_timestamp(),
             result = ${isDone ? outcome.result : null}::text::json, error = ${isDone ? null : outcome.error}::text::json
        from head h
       where s.session = ${session}::text and s.turn_id = ${turn}::text and s.step_index = ${index}::int and s.state = 'started'
    )`;
}

/** Another attempt does what an older one may have done. How long the provider knows the key counts from the first. */
export async function takeOverStep(tx: Statements, { session, turn, index }: Place, fence: number): Promise<void> {
  await tx`
    update ledgerline.step set fence = ${fence}::bigint
     where session = ${session}::text and turn_id = ${turn}::text and step_index = ${index}::int and state = 'started'`;
}

export async function doubtStep(tx: Statements, { session, turn, index }: Place): Promise<void> {
  await tx`
    update ledgerline.step set state = 'in_doubt'
     where session = ${session}::text and turn_id = ${turn}::text and step_index = ${index}::int and state = 'started'`;
}

/** It never happened, says a person: what runs at its index next is the first. */
export async function removeStep(tx: Statements, { session, turn, index }: Place): Promise<void> {
  await tx`
    delete from ledgerline.step
     where session = ${session}::text and turn_id = ${turn}::text and step_index = ${index}::int`;
}
