/** A run of the crash lab as the development server describes it, and the guard that lets nothing else through (pure). */

/** In the order of a refund's way. `nowhere` lets the process live. */
export const points = [
  'model_answered',
  'model_journaled',
  'refund_written',
  'refund_committed',
  'delivery_published',
  'entry_committed',
  'nowhere',
] as const;
export type CrashPoint = (typeof points)[number];

export const safeguards = ['transaction', 'step_key', 'inbox'] as const;
export type Safeguard = (typeof safeguards)[number];

export interface CrashPlan {
  readonly point: CrashPoint;
  /** The safeguards that are off. */
  readonly without: readonly Safeguard[];
}

export interface RefundRow {
  readonly key: string;
  readonly order: string;
  readonly cents: number;
  readonly at: string;
}

export interface JournalRow {
  readonly index: number;
  readonly kind: 'model' | 'tool' | 'input';
  readonly tool?: string;
  /** The class of the tool's effect. */
  readonly effect?: string;
  readonly state: string;
  readonly attempt: number;
}

export interface OutboxRow {
  readonly number: number;
  readonly topic: string;
  readonly state: 'waiting' | 'refused' | 'published' | 'dead';
  /** The index of the step that it tells of. */
  readonly step: number;
}

export interface EntryRow {
  /** The key of the refund that it is of. */
  readonly refund: string;
  readonly order: string;
  readonly cents: number;
  readonly at: string;
}

/** Everything that a run has left behind so far, read at one moment. */
export interface Books {
  readonly refunds: readonly RefundRow[];
  readonly journal: readonly JournalRow[];
  readonly outbox: readonly OutboxRow[];
  readonly entries: readonly EntryRow[];
  readonly modelCalls: number;
  /** What became of the turn. */
  readonly turn: string;
}

export interface CrashNote {
  readonly at: string;
  readonly text: string;
}

/** `once`: one refund and one entry of it. */
export type CrashVerdict =
  | { readonly kind: 'once' }
  | { readonly kind: 'doubled' | 'lost'; readonly what: 'refund' | 'entry' };

export interface CrashRun extends CrashPlan {
  readonly id: string;
  readonly state: 'preparing' | 'running' | 'resuming' | 'over' | 'failed';
  readonly notes: readonly CrashNote[];
  /** When the process had died; absent if it lived, or lives. */
  readonly before?: Books;
  /** At the end, or as far as it has come. */
  readonly after?: Books;
  /** At the end alone. */
  readonly verdict?: CrashVerdict;
  /** Why it could not be carried out: the lab's own failure, and no finding. */
  readonly problem?: string;
}

export const isUnderWay = (run: CrashRun | undefined): boolean =>
  run !== undefined && run.state !== 'over' && run.state !== 'failed';

/** What `/lab/crash` answers: a run, null where there was none yet, or undefined where it is no answer of the lab. */
export function readRun(answer: unknown): CrashRun | null | undefined {
  if (typeof answer !== 'object' || answer === null || !('run' in answer)) return undefined;
  const { run } = answer;
  return run === null || isRun(run) ? run : undefined;
}

function isRun(value: unknown): value is CrashRun {
  if (typeof value !== 'object' || value === null) return false;
  const { id, point, without, state, notes, before, after } = value as Readonly<Record<string, unknown>>;
  return (
    typeof id === 'string' &&
    points.some((one) => one === point) &&
    Array.isArray(without) &&
    without.every((off) => safeguards.some((one) => one === off)) &&
    typeof state === 'string' &&
    Array.isArray(notes) &&
    [before, after].every((books) => books === undefined || isBooks(books))
  );
}

function isBooks(value: unknown): value is Books {
  if (typeof value !== 'object' || value === null) return false;
  const { refunds, journal, outbox, entries } = value as Readonly<Record<string, unknown>>;
  return [refunds, journal, outbox, entries].every(Array.isArray);
}
