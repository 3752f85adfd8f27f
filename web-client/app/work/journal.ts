/** The journals of a session's last turns, row by row, as its events tell them (pure). */
import type { SessionEvent } from '../../src/session-event.ts';
import { areDeliveries, fieldsOf, numberOf, textOf } from '../../src/timeline-data.ts';
import type { Fields } from '../../src/timeline-data.ts';

export interface JournalRow {
  readonly index: number;
  /** `input`: what came from outside while the turn was under way. */
  readonly kind: 'model' | 'tool' | 'input';
  /** Of an input: what it was. */
  readonly name?: string | undefined;
  readonly effect?: string | undefined;
  /** `not_done`: it never happened, said a person, and may be done. */
  readonly state: 'started' | 'done' | 'failed' | 'in_doubt' | 'not_done';
  /** Which attempt did it; undefined where that lies before these events. */
  readonly attempt?: number | undefined;
  /** The last attempt that found it in the journal, and did not do it again. */
  readonly foundBy?: number | undefined;
  readonly resolvedBy?: string | undefined;
  /** Of the last event about it. */
  readonly sequence: number;
}

interface Journal {
  readonly rows: ReadonlyMap<number, JournalRow>;
  /** The last index that the last answer of a model has reserved. */
  readonly reserved: number;
  /** Nothing of it lies before these events. */
  readonly isWhole: boolean;
}

export interface Work {
  /** The first and the last sequence that was folded; 0 before there is one. */
  readonly first: number;
  readonly last: number;
  /** By turn, in the order in which they were begun, or gone on with. */
  readonly journals: ReadonlyMap<string, Journal>;
  readonly newest: string | undefined;
  /** The highest number of a delivery that an event told of. */
  readonly delivered: number;
}

export const noWork: Work = { first: 0, last: 0, journals: new Map(), newest: undefined, delivered: 0 };

/** An older turn may go on, when a person has resolved its doubt; what never does must not pile up. */
const MOST_TURNS = 16;

/** Of events in order; those that it has already change nothing. */
export function foldWork(work: Work, events: readonly SessionEvent[]): Work {
  const fresh = events.slice(events.findLastIndex(({ sequence }) => sequence <= work.last) + 1);
  return fresh.reduce(fold, work);
}

/** `events` are all that there are now. Where older ones came, or they are others after a restore, they are folded anew. */
export function workOf(known: Work, events: readonly SessionEvent[]): Work {
  const [oldest, newest] = [events[0], events.at(-1)];
  if (oldest === undefined || newest === undefined) return noWork;
  const goesOn = known.first <= oldest.sequence && oldest.sequence <= known.last + 1 && known.last <= newest.sequence;
  return foldWork(goesOn ? known : noWork, events);
}

/** The newest turn's, by index; empty where no more is known of it than what came from outside. */
export function newestRows({ journals, newest }: Work): readonly JournalRow[] {
  const rows = [...(journals.get(newest ?? '')?.rows.values() ?? [])].toSorted((one, other) => one.index - other.index);
  return rows.some(({ kind }) => kind !== 'input') ? rows : [];
}

function fold(before: Work, event: SessionEvent): Work {
  const { sequence, type } = event;
  const work = { ...before, first: before.first || sequence, last: sequence };
  const data = fieldsOf(event.data);
  const turn = textOf(data?.turn);
  if (data === undefined || turn === undefined) return work;
  if (type === 'turn.started') return begin(work, turn, data);
  if (type === 'approval.decided') return take(work, turn, { name: 'a decision', sequence });
  if (type === 'turn.steered')
    return take(work, turn, { name: 'a message', attempt: numberOf(data.attempt), sequence });
  return states.has(type) ? keep(work, turn, event, data) : work;
}

/** It has its inputs from before it began: where they are known, so is all of it. */
function begin(work: Work, turn: string, { inputs }: Fields): Work {
  const isWhole =
    Array.isArray(inputs) && inputs.length > 0 && inputs.every((input) => (numberOf(input) ?? 0) >= work.first);
  const journals = new Map(work.journals);
  const known = journals.get(turn) ?? { rows: new Map(), reserved: -1, isWhole };
  journals.delete(turn);
  journals.set(turn, known);
  const [oldest] = journals.keys();
  if (journals.size > MOST_TURNS && oldest !== undefined) journals.delete(oldest);
  return { ...work, journals, newest: turn };
}

/** What comes from outside takes the next free index, which can be told once nothing before it is missing. */
function take(work: Work, turn: string, facts: Pick<JournalRow, 'name' | 'attempt' | 'sequence'>): Work {
  const known = work.journals.get(turn);
  if (known === undefined || (!known.isWhole && known.reserved < 0)) return work;
  const taken = [...known.rows.values()].filter(({ state }) => state !== 'not_done').map(({ index }) => index);
  return write(work, turn, { index: 1 + Math.max(known.reserved, ...taken), kind: 'input', state: 'done', ...facts });
}

const states: ReadonlyMap<string, JournalRow['state']> = new Map<string, JournalRow['state']>([
  ['step.started', 'started'],
  ['step.done', 'done'],
  ['step.failed', 'failed'],
  ['step.in_doubt', 'in_doubt'],
  ['step.resolved', 'not_done'],
]);

function keep(work: Work, turn: string, { type, sequence }: SessionEvent, data: Fields): Work {
  const { step: index, kind, fromJournal, deliveries } = data;
  const [name, attempt] = [textOf(data.tool), numberOf(data.attempt)];
  const isModel = kind === 'model';
  if (typeof index !== 'number' || (name === undefined && !isModel)) return work;
  const before = work.journals.get(turn)?.rows.get(index);
  const isResolved = type === 'step.resolved';
  // These tell of what another attempt did, or of what was told before.
  const isFound = fromJournal === true;
  const isOther = isFound || isResolved || (type === 'step.in_doubt' && before !== undefined);
  const isNew = type === 'step.started';
  const row: JournalRow = {
    index,
    kind: isModel ? 'model' : 'tool',
    name,
    effect: textOf(data.effect),
    state: isResolved && data.outcome === 'done' ? 'done' : (states.get(type) ?? 'done'),
    attempt: isOther ? before?.attempt : attempt,
    foundBy: isFound ? attempt : isNew ? undefined : before?.foundBy,
    resolvedBy: isResolved ? textOf(data.by) : isNew ? undefined : before?.resolvedBy,
    sequence,
  };
  const told = areDeliveries(deliveries) ? deliveries.map(({ number }) => number) : [];
  const delivered = Math.max(work.delivered, ...told);
  const reserved = isModel ? index + (numberOf(data.reserved) ?? 0) : undefined;
  return { ...write(work, turn, row, reserved), delivered };
}

function write(work: Work, turn: string, row: JournalRow, reserved?: number): Work {
  const { rows, ...known } = work.journals.get(turn) ?? { rows: new Map(), reserved: -1, isWhole: false };
  const journal = { ...known, rows: new Map(rows).set(row.index, row), ...(reserved !== undefined && { reserved }) };
  return { ...work, journals: new Map(work.journals).set(turn, journal), newest: work.newest ?? turn };
}
