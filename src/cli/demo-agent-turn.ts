/** A turn of the demo's agent, answer by answer: each is journaled, what it asks for happens once, and a later attempt tells it again. */
import type { CallOutcome, ModelSaid, ModelStep } from '../worker/agent-steps.ts';
import type { AgentTurn, FinalEvent } from '../worker/agent-turn.ts';
import { AgentError } from '../worker/define-agent.ts';
import type { Ask, Kept, Round } from './demo-agent-ask.ts';
import { carryOut } from './demo-agent-call.ts';
import { stepOf } from './demo-cast.ts';

/** A model that asks for tools without end is stopped. */
const MOST_ANSWERS = 24;

export async function converse(turn: AgentTurn, ask: Ask, beforeRefund: () => Promise<void>): Promise<FinalEvent[]> {
  const inputs = [...turn.inputs];
  const newest = (): number => Math.max(0, ...inputs.map(({ sequence }) => sequence));
  const rounds: Round[] = [];
  // What stands before a decision was told by the attempt that asked for it.
  const told = Math.max(-1, ...[...turn.decisions.keys()].map(stepOf));

  async function listen(): Promise<boolean> {
    const joined = await turn.steering();
    inputs.push(...joined);
    return joined.length > 0;
  }

  async function askAnew(message: string): Promise<ModelSaid<Kept>> {
    const before = newest();
    const { result, calls = [] } = await ask({ turn, message, inputs, rounds, listen });
    const heard = result.heard ?? before;
    return { result: { ...result, heard, isCut: calls.length === 0 && newest() > heard }, calls };
  }

  while (rounds.length < MOST_ANSWERS) {
    const message = `${turn.turn}:${turn.attempt}:${rounds.length + 1}`;
    const request = { said: inputs.map(({ content }) => content), outcomes: rounds.at(-1)?.outcomes ?? [] };
    const answer = await turn.model(request, () => askAnew(message));
    const { thought = '', text, isCut } = answer.result;
    const isTold = answer.index < told;
    if (answer.isFromJournal && !isTold && thought !== '') {
      await turn.append('reasoning.delta', { message: `${message}:thought`, text: thought });
    }
    const data = { message, role: 'assistant', content: text };
    const isLast = answer.calls.length === 0 && !isCut;
    if (isLast) return text === '' ? [] : [{ type: 'message.completed', data }];
    if (text !== '' && !isTold) await turn.append('message.completed', data);
    rounds.push({ said: answer.result, outcomes: await callAll(answer) });
  }
  throw new AgentError(
    'too_many_answers',
    `The agent’s turn took ${MOST_ANSWERS} answers, and the last one asked on.`,
    {
      isRetryable: false,
    },
  );

  /** One after another, as they are told. */
  async function callAll(answer: ModelStep<Kept>): Promise<CallOutcome[]> {
    const outcomes: CallOutcome[] = [];
    for (const [place, call] of answer.calls.entries()) {
      const step = answer.index + 1 + place;
      outcomes.push(await carryOut(turn, answer, { call, step, isTold: step < told, beforeRefund }));
    }
    return outcomes;
  }
}
