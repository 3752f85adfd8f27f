/** What happened in a run, in words for whoever watches it (pure). */
import type { CrashPlan, CrashPoint, Safeguard } from '../lab/crash-lab.ts';
import type { Fact } from './fact.ts';
import type { StageEvent } from './stage.ts';

/** What was told before: the same event says another thing the second time. */
interface Told {
  /** The process that lives now. */
  readonly pid: number;
  /** The one that had the turn last. */
  readonly owner: number | undefined;
  readonly modelCalls: number;
  /** The deliveries that were published before. */
  readonly published: ReadonlySet<number>;
}

/** Undefined: it goes without saying. */
export function eventNote({ type, data }: StageEvent, { pid, owner }: Pick<Told, 'pid' | 'owner'>): string | undefined {
  switch (type) {
    case 'turn.started': {
      const how =
        owner === undefined ? 'began the turn' : owner === pid ? 'went on with the turn' : 'took the turn over';
      return `process ${pid} ${how}, attempt ${String(data['attempt'])}`;
    }
    case 'turn.retrying':
      return 'the turn’s lease was over: it may be taken';
    case 'approval.required':
      return 'the worker asked for approval';
    case 'approval.decided':
      return 'the refund was approved';
    case 'step.done':
      return stepNote(data);
    case 'turn.completed':
      return 'the turn was completed';
    case 'turn.failed':
    case 'turn.cancelled':
    case 'turn.in_doubt':
      return `the turn ended: ${type.slice('turn.'.length).replace('_', ' ')}`;
    default:
      return undefined;
  }
}

function stepNote({ kind, tool, step, fromJournal }: StageEvent['data']): string {
  if (kind === 'model') return `the model’s answer was journaled, step ${String(step)}`;
  return fromJournal === true
    ? `${String(tool)} was not run again: the journal had step ${String(step)}`
    : `${String(tool)} was journaled, step ${String(step)}`;
}

export function factNote(fact: Fact, { pid, modelCalls, published }: Omit<Told, 'owner'>): string | undefined {
  switch (fact.fact) {
    case 'model_asked':
      return modelCalls === 0 ? 'the model was asked' : `the model was asked, call ${modelCalls + 1}`;
    case 'published':
      return `process ${pid} published delivery ${fact.number}${published.has(fact.number) ? ' again' : ''}`;
    case 'acknowledged':
      return `the consumer acknowledged delivery ${fact.number}`;
    case 'dies':
      return undefined;
  }
}

const places: Readonly<Record<CrashPoint, string>> = {
  nowhere: 'nowhere',
  model_answered: 'behind the model’s answer, before its journal',
  model_journaled: 'behind the journal of the model’s answer',
  refund_written: 'behind the row of the refund, before the commit',
  refund_committed: 'behind the commit, before the worker knew of it',
  delivery_published: 'behind the publish, applied and not yet marked',
  entry_committed: 'behind the commit of the entry, before the acknowledgement',
};

export function deathNote(pid: number, { point, without }: CrashPlan): string {
  const isBetween = point === 'refund_committed' && without.includes('transaction');
  const place = isBetween ? 'behind the commit of the journal, before that of the refund' : places[point];
  return `process ${pid} died ${place} (SIGKILL)`;
}

const missing: Readonly<Record<Safeguard, string>> = {
  transaction: 'without the shared transaction',
  step_key: 'without the step key',
  inbox: 'without the inbox',
};

export function startNote(pid: number, without: readonly Safeguard[]): string {
  return [`process ${pid} started`, ...without.map((safeguard) => missing[safeguard])].join(', ');
}
