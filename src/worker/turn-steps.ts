/** The steps of one attempt: which answers and calls the journal has, and how the rest gets into it. */
import { LedgerlineError } from '../base/errors.ts';
import { toOneLine } from '../event/slice.ts';
import { payloadOf } from '../producer/event-text.ts';
import type { ModelCall, ModelAnswer, Steps } from '../turn/steps.ts';
import { AgentError } from './agent-error.ts';
import type { AgentSteps, CallOutcome, ModelSaid, ModelStep } from './agent-steps.ts';
import { carryOut } from './tool-call.ts';
import type { Carried, ToolCallOptions } from './tool-call.ts';
import { answerOf, createTurnJournal } from './turn-journal.ts';
import { unheard } from './unheard.ts';

export type WorkerSteps = Pick<Steps, 'journal' | 'model' | 'start' | 'settle' | 'transactional'>;

export interface TurnStepsOptions extends ToolCallOptions {
  readonly steps: WorkerSteps;
  /** Throws if the attempt may begin nothing more. */
  readonly guardBegin: () => void;
  /** What the agent said before is stored before. */
  readonly flush: () => Promise<void>;
  /** Ends the attempt, as the journal has ended it by a step in doubt. */
  readonly endInDoubt: () => never;
  /** Ends the attempt as failed, whatever the agent makes of that. */
  readonly endFailed: (thrown: unknown) => Promise<never>;
}

export interface TurnSteps {
  readonly ofAgent: AgentSteps;
  /** Resolves when no call is at work; never rejects. */
  settled(): Promise<void>;
  /** Resolves when what follows from each call is done, too; never rejects. */
  concluded(): Promise<void>;
  /** Somebody else may have written into the journal. */
  stale(): void;
}

export function createTurnSteps(options: TurnStepsOptions): TurnSteps {
  const { attempt, steps, ask, guardBegin, flush } = options;
  const journal = createTurnJournal(() => ask(() => steps.journal(attempt.session, attempt.turn)));
  const works: Promise<Carried>[] = [];
  /** By index: in one attempt a call has one caller. */
  const outcomes = new Map<number, Promise<CallOutcome>>();
  let answers = 0;
  let isAsking = false;
  /** Calls that have not come back. */
  let atWork = 0;

  async function model<Result>(
    request: unknown,
    askModel: () => Promise<ModelSaid<Result>>,
  ): Promise<ModelStep<Result>> {
    if (isAsking) {
      throw new LedgerlineError('malformed', 'a turn asks one model at a time: await its answer before the next');
    }
    // Asked without what came of them, it would ask for them again.
    if (atWork > 0) {
      throw new LedgerlineError('malformed', 'a model is asked when all calls have come back: await them before');
    }
    isAsking = true;
    try {
      guardBegin();
      const answer = (await journal.answer(answers)) ?? (await askAnew(request, askModel));
      answers += 1;
      return answer as ModelStep<Result>;
    } finally {
      isAsking = false;
    }
  }

  async function askAnew(request: unknown, askModel: () => Promise<ModelSaid<unknown>>): Promise<ModelStep> {
    guardBegin();
    const said = await askModel();
    const calls = (said.calls ?? []).map(({ call, tool, args }) => ({ call, tool, args }));
    const answer = { result: toOneLine(payloadOf(said.result)), calls };
    await flush();
    const index = await keep(request, answer);
    return answerOf(index, `{"result":${answer.result},"calls":${payloadOf(calls)}}`, false);
  }

  /** At the next free index, as far as that is known here: a message that steers the turn takes one, too. */
  async function keep(request: unknown, answer: ModelAnswer): Promise<number> {
    for (;;) {
      const index = await journal.next();
      try {
        await ask(() => steps.model(attempt, index, request, answer));
        journal.kept(index, answer.calls.length);
        return index;
      } catch (thrown) {
        if (!isConflict(thrown)) throw told(thrown);
        journal.stale();
        if ((await journal.next()) === index) throw told(thrown);
      }
    }
  }

  async function callOf(answer: ModelStep, one: ModelCall): Promise<CallOutcome> {
    const index = answer.index + 1 + positionOf(answer, one);
    const begun = outcomes.get(index);
    if (begun !== undefined) return begun;
    guardBegin();
    atWork += 1;
    const work = flush().then(() => carryOut(options, index, one));
    const outcome = conclude(one, work);
    works.push(work);
    outcomes.set(index, outcome);
    return outcome;
  }

  async function conclude(one: ModelCall, work: Promise<Carried>): Promise<CallOutcome> {
    let carried: Carried;
    try {
      carried = await work.finally(() => (atWork -= 1));
    } catch (thrown) {
      await all(() => works);
      return options.endFailed(told(thrown));
    }
    switch (carried.kind) {
      case 'done':
        return { call: one, state: 'done', result: JSON.parse(carried.result) as unknown };
      case 'failed':
        return { call: one, state: 'failed', error: carried.error };
      case 'in_doubt':
        await all(() => works);
        return options.endInDoubt();
    }
  }

  return {
    ofAgent: {
      model: (request, askModel) => unheard(model(request, askModel)),
      call: (answer, one) => unheard(callOf(answer, one)),
      calls: (answer) => unheard(Promise.all(answer.calls.map((one) => unheard(callOf(answer, one))))),
    },
    settled: () => all(() => works),
    concluded: () => all(() => [...outcomes.values()]),
    stale: () => journal.stale(),
  };
}

/** Where a call stands in its answer, which is what its index follows from. */
function positionOf({ calls }: ModelStep, one: ModelCall): number {
  const itself = calls.indexOf(one);
  if (itself >= 0) return itself;
  const named = calls.flatMap(({ call }, position) => (call === one.call ? [position] : []));
  const [position] = named;
  if (position !== undefined && named.length === 1) return position;
  throw new LedgerlineError(
    'malformed',
    `the call ${one.call} is not one of this answer, or not the only one so named`,
  );
}

/** And those that were begun meanwhile. */
async function all(promises: () => readonly Promise<unknown>[]): Promise<void> {
  for (let count = -1; count !== promises().length;) {
    count = promises().length;
    await Promise.allSettled(promises());
  }
}

const isConflict = (thrown: unknown): thrown is LedgerlineError =>
  thrown instanceof LedgerlineError && thrown.code === 'step_conflict';

const isFull = (thrown: unknown): thrown is LedgerlineError =>
  thrown instanceof LedgerlineError && thrown.fields['limit'] === 'stepsPerTurn';

/** No further attempt would find another journal, so the turn fails, where everybody sees why. */
const told = (thrown: unknown): unknown =>
  isConflict(thrown) || isFull(thrown)
    ? new AgentError(thrown.code, thrown.message, { isRetryable: false, cause: thrown })
    : thrown;
