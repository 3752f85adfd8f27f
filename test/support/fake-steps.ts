/** A journal in memory, by the rules of the real one, whose rows a test may write, and whose answers it may lose. */
import { LedgerlineError } from '../../src/base/errors.ts';
import { toSequence } from '../../src/event/sequence.ts';
import { verdictOf } from '../../src/step/effect.ts';
import type { Statements } from '../../src/db/postgres.ts';
import { sealIntent } from '../../src/step/intent.ts';
import { answerText, errorText, resultText } from '../../src/step/outcome.ts';
import { stepKey } from '../../src/step/step.ts';
import type { Intent, JournaledStep, NewDelivery, StepError, StepState } from '../../src/step/step.ts';
import type { Attempt } from '../../src/turn/turns.ts';
import type { WorkerSteps } from '../../src/worker/turn-steps.ts';

const AT = '2026-11-30T04:00:00.000Z';
const sequence = toSequence(9);

export interface FakeSteps extends WorkerSteps {
  readonly rows: Map<number, JournaledStep>;
  readonly deliveries: NewDelivery[];
  /** Each operation meets the first before it is done, and the second before its answer leaves. */
  before: (what: string, index?: number) => Promise<void>;
  after: (what: string, index?: number) => Promise<void>;
  /** What a transactional tool gets: nothing, unless the test gives it something. */
  tx: Statements;
  /** As an attempt before has left it. */
  seed(index: number, more: Partial<JournaledStep>, intent?: Intent): void;
}

/** Takes every statement, and does nothing: what a tool writes is for the tests with a database. */
export const anyTransaction = (() => Promise.resolve([])) as unknown as Statements;

export function fakeSteps(owned: (attempt: Attempt) => void): FakeSteps {
  const rows = new Map<number, JournaledStep>();
  const next = (): number => Math.max(0, ...[...rows.values()].map(({ index, reserved }) => index + reserved + 1));

  function put(index: number, more: Partial<JournaledStep>, intent?: Intent): void {
    rows.set(index, {
      index,
      kind: 'tool',
      state: 'done',
      tool: intent?.tool,
      effect: intent?.effect,
      reserved: 0,
      requestHash: intent === undefined ? '' : sealIntent(intent).hash,
      request: undefined,
      result: undefined,
      error: undefined,
      fence: 1,
      isKeyExpired: false,
      startedAt: AT,
      endedAt: undefined,
      ...more,
    });
  }

  function found(index: number, intent: Intent): JournaledStep | undefined {
    const { hash } = sealIntent(intent);
    const row = rows.get(index);
    if (row === undefined || row.requestHash === hash) return row;
    throw new LedgerlineError('step_conflict', 'another intent is in the journal', { state: row.state });
  }

  function settled(index: number, outcome: { result: unknown } | { error: StepError }): StepState {
    const row = rows.get(index);
    if (row === undefined) throw new LedgerlineError('step_unknown', 'no call was begun here');
    if (row.state === 'done' || row.state === 'failed') return row.state;
    const texts =
      'error' in outcome
        ? { state: 'failed' as const, error: JSON.parse(errorText(outcome.error)) as StepError }
        : { state: 'done' as const, result: resultText(outcome.result) };
    rows.set(index, { ...row, ...texts, endedAt: AT });
    return texts.state;
  }

  async function operation<T>(what: string, index: number | undefined, work: () => T | Promise<T>): Promise<T> {
    await self.before(what, index);
    const answer = await work();
    await self.after(what, index);
    return answer;
  }

  const self: FakeSteps = {
    rows,
    deliveries: [],
    before: () => Promise.resolve(),
    after: () => Promise.resolve(),
    tx: {} as never,
    seed: put,
    journal: () => operation('journal', undefined, () => [...rows.values()].toSorted((a, b) => a.index - b.index)),
    model: (attempt, index, _request, { result, calls }) =>
      operation('model', index, () => {
        owned(attempt);
        const text = answerText(result, calls);
        const row = rows.get(index);
        if (row?.result === text) return { state: 'done', sequence: undefined };
        if (index !== next()) throw new LedgerlineError('step_conflict', 'not the next index', { state: 'done' });
        const open = [...rows.values()].find(({ state }) => state === 'started');
        if (open !== undefined) throw new LedgerlineError('step_conflict', 'a call is open', { state: open.state });
        put(index, { kind: 'model', result: text, reserved: calls.length, fence: attempt.attempt });
        return { state: 'done', sequence };
      }),
    start: (attempt, index, intent) =>
      operation('start', index, () => {
        owned(attempt);
        const row = found(index, intent);
        const key = stepKey(attempt.turn, index);
        const isOwn = row?.fence === attempt.attempt;
        const verdict = verdictOf(intent.effect, row && { ...row, effect: row.effect ?? 'once', isOwn });
        switch (verdict) {
          case 'run':
          case 'run_again':
          case 'find':
            put(index, { state: 'started', fence: attempt.attempt }, intent);
            return verdict === 'find' ? { kind: 'find', key } : { kind: 'run', key, isAgain: verdict === 'run_again' };
          case 'wait':
            return { kind: 'in_progress' };
          case 'doubt':
            put(index, { state: 'in_doubt' }, intent);
            return { kind: 'in_doubt' };
          case 'use':
            return row?.error === undefined
              ? { kind: 'done', result: row?.result ?? 'null' }
              : { kind: 'failed', error: row.error };
        }
      }),
    settle: (attempt, index, intent, outcome) =>
      operation('settle', index, () => {
        if (intent.effect === 'transactional' && !rows.has(index)) {
          owned(attempt);
          put(index, { state: 'started' }, intent);
        }
        found(index, intent);
        return { state: settled(index, outcome), sequence };
      }),
    transactional: (attempt, index, intent, work) =>
      operation('transactional', index, async () => {
        const row = found(index, intent);
        if (row?.state === 'failed') throw new LedgerlineError('step_settled', 'it has failed', { state: row.state });
        if (row !== undefined) return { result: row.result ?? 'null', isFromJournal: true, sequence };
        const { result, deliveries = [] } = await work(self.tx, stepKey(attempt.turn, index));
        owned(attempt);
        put(index, { state: 'started', fence: attempt.attempt }, intent);
        settled(index, { result });
        self.deliveries.push(...deliveries);
        return { result: resultText(result), isFromJournal: false, sequence };
      }),
  };
  return self;
}
