/** The crash lab: where a process is to die, which safeguard it goes without, and what is found before and after it comes back. */

/** Where the process dies, in the order of a run; `nowhere` lets it live. */
export const crashPoints = [
  'nowhere',
  'model_answered',
  'model_journaled',
  'refund_written',
  'refund_committed',
  'delivery_published',
  'entry_committed',
] as const;
export type CrashPoint = (typeof crashPoints)[number];

/** What keeps an effect single, and can be taken away to see what it was for. */
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
  readonly tool: string | undefined;
  readonly effect: string | undefined;
  readonly state: string;
  /** The fence of the attempt that it is of. */
  readonly attempt: number;
}

export interface OutboxRow {
  readonly number: number;
  readonly topic: string;
  readonly state: 'waiting' | 'refused' | 'published' | 'dead';
  readonly step: number;
}

export interface EntryRow {
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
  /** How often the model was asked, and paid. */
  readonly modelCalls: number;
  /** What became of the turn. */
  readonly turn: string;
}

/** What happened, in the order of time. */
export interface CrashNote {
  readonly at: string;
  readonly text: string;
}

/** `once`: one refund of 40 and one entry of it. */
export type CrashVerdict =
  | { readonly kind: 'once' }
  | { readonly kind: 'doubled'; readonly what: 'refund' | 'entry' }
  | { readonly kind: 'lost'; readonly what: 'refund' | 'entry' };

export interface CrashRun extends CrashPlan {
  readonly id: string;
  readonly state: 'preparing' | 'running' | 'resuming' | 'over' | 'failed';
  readonly notes: readonly CrashNote[];
  /** When the process had died; absent if it lived. */
  readonly before: Books | undefined;
  /** At the end, or as far as it has come. */
  readonly after: Books | undefined;
  /** At the end alone. */
  readonly verdict: CrashVerdict | undefined;
  /** Why it could not be carried out: the lab's own failure, and no finding. */
  readonly problem: string | undefined;
}

export interface CrashLab {
  /** The newest run, if there was one. */
  newest(): CrashRun | undefined;
  /** One at a time: while one is under way, that one is the answer. */
  begin(plan: CrashPlan): CrashRun;
}
