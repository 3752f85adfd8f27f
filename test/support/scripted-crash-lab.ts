/** The crash lab's routes as a test tells them, in the place of the server's: runs to show, and the plans that were asked for. */
import type { BrowserContext } from 'playwright-core';
import type {
  Books,
  CrashPlan,
  CrashRun,
  EntryRow,
  JournalRow,
  OutboxRow,
  RefundRow,
} from '../../src/lab/crash-lab.ts';

const TURN = '0b6c2f4e-52d1-4c3e-9a53-7d0c8f6b1a11';
export const STEP_KEY = `v1:${TURN}:2`;
const SECOND_KEY = `v1:${TURN}:6`;

/** `04:00:00.000` and some milliseconds. */
export const moment = (ms: number): string => new Date(Date.UTC(2026, 10, 30, 4) + ms).toISOString();

export const refund = (key = STEP_KEY, ms = 900): RefundRow => ({ key, order: '7731', cents: 40, at: moment(ms) });

export const entry = (of = STEP_KEY, ms = 3_200): EntryRow => ({
  refund: of,
  order: '7731',
  cents: 40,
  at: moment(ms),
});

export const delivery = (state: OutboxRow['state']): OutboxRow => ({
  number: 1,
  topic: 'refund.issued',
  state,
  step: 2,
});

const stepOf = (index: number, kind: JournalRow['kind'], attempt: number, more: Partial<JournalRow> = {}) => ({
  index,
  kind,
  tool: undefined,
  effect: undefined,
  state: 'done',
  attempt,
  ...more,
});

const asked: readonly JournalRow[] = [
  stepOf(0, 'model', 1),
  stepOf(1, 'tool', 1, { tool: 'lookup_order', effect: 'read' }),
  stepOf(3, 'input', 1),
];
const refunded = (attempt: number, index = 2): JournalRow =>
  stepOf(index, 'tool', attempt, { tool: 'issue_refund', effect: 'transactional' });

/** By which attempt the refund was made, and the reply. */
export const journal = (refundBy?: number, replyBy?: number): readonly JournalRow[] => [
  ...asked.slice(0, 2),
  ...(refundBy === undefined ? [] : [refunded(refundBy)]),
  ...asked.slice(2),
  ...(replyBy === undefined ? [] : [stepOf(4, 'model', replyBy)]),
];

export const books = (more: Partial<Books> = {}): Books => ({
  refunds: [],
  journal: journal(),
  outbox: [],
  entries: [],
  modelCalls: 1,
  turn: 'open',
  ...more,
});

const notes = [
  [0, 'process 4711 started'],
  [12, 'the customer asked for the refund'],
  [140, 'process 4711 began the turn, attempt 1'],
  [171, 'the model was asked'],
  [186, 'the model’s answer was journaled, step 0'],
  [204, 'lookup_order was journaled, step 1'],
  [240, 'the refund was approved'],
  [920, 'issue_refund was journaled, step 2'],
  [931, 'process 4711 died behind the commit, before the worker knew of it (SIGKILL)'],
  [1_020, 'process 4725 started'],
  [2_110, 'process 4725 took the turn over, attempt 2'],
  [2_204, 'issue_refund was not run again: the journal had step 2'],
  [3_260, 'the turn was completed'],
] as const;

const notesTo = (count: number): CrashRun['notes'] =>
  notes.slice(0, count).map(([ms, text]) => ({ at: moment(ms), text }));

const run = (plan: CrashPlan, more: Partial<CrashRun>): CrashRun => ({
  ...plan,
  id: 'run-1',
  state: 'over',
  notes: notesTo(notes.length),
  before: undefined,
  after: undefined,
  verdict: undefined,
  problem: undefined,
  ...more,
});

const committed = books({ refunds: [refund()], journal: journal(1), outbox: [delivery('waiting')] });
const done = books({
  refunds: [refund()],
  journal: journal(1, 2),
  outbox: [delivery('published')],
  entries: [entry()],
  modelCalls: 2,
  turn: 'done',
});

const safe: CrashPlan = { point: 'refund_committed', without: [] };
const keyless: CrashPlan = { point: 'refund_committed', without: ['step_key'] };

/** As they come from a server, one after another. */
export const scripts = {
  begun: (plan: CrashPlan): CrashRun => run(plan, { state: 'preparing', notes: notesTo(2) }),
  resuming: run(safe, {
    id: 'resuming',
    state: 'resuming',
    notes: notesTo(10),
    before: committed,
    after: committed,
  }),
  once: run(safe, {
    id: 'once',
    before: committed,
    after: done,
    verdict: { kind: 'once' },
  }),
  /** Its second attempt did not find its steps, and counted on behind them. */
  twoRefunds: run(keyless, {
    id: 'twice',
    before: committed,
    after: {
      ...done,
      refunds: [refund(), refund(SECOND_KEY, 2_300)],
      journal: [
        ...journal(1),
        stepOf(4, 'model', 2),
        stepOf(5, 'tool', 2, { tool: 'lookup_order', effect: 'read' }),
        refunded(2, 6),
        stepOf(7, 'input', 2),
        stepOf(8, 'model', 2),
      ],
      outbox: [delivery('published'), { ...delivery('published'), number: 2, step: 6 }],
      entries: [entry(), entry(SECOND_KEY, 3_600)],
      modelCalls: 3,
    },
    verdict: { kind: 'doubled', what: 'refund' },
  }),
  failed: run(safe, {
    id: 'failed',
    state: 'failed',
    notes: notesTo(2),
    problem: 'the process does not get on',
  }),
} as const;

export interface ScriptedCrashLab {
  readonly plans: readonly CrashPlan[];
  /** What is answered from now on. */
  show(next: CrashRun): void;
  /** How the next press of the button is refused. */
  refuse(detail: string): void;
}

/** In every page of the context. */
export async function scriptCrashLab(context: BrowserContext): Promise<ScriptedCrashLab> {
  const plans: CrashPlan[] = [];
  let shown: CrashRun | null = null;
  let refusal: string | undefined;
  await context.route('**/lab/crash', async (route) => {
    if (route.request().method() === 'GET') return route.fulfill({ json: { run: shown } });
    if (refusal !== undefined) {
      const json = { type: 'urn:ledgerline:problem:forbidden', title: 'forbidden', detail: refusal };
      return route.fulfill({ status: 403, json });
    }
    const plan = route.request().postDataJSON() as CrashPlan;
    plans.push(plan);
    shown = scripts.begun(plan);
    return route.fulfill({ status: 202, json: { run: shown } });
  });
  return { plans, show: (next) => void (shown = next), refuse: (detail) => void (refusal = detail) };
}
