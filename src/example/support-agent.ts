/** The worked example: a support agent that refunds an order once, after a person's approval, whatever dies in between. */
import type { AgentTurn, FinalEvent } from '../worker/agent-turn.ts';
import type { CallOutcome, ModelStep } from '../worker/agent-steps.ts';
import { AgentError, defineAgent } from '../worker/define-agent.ts';
import type { Agent } from '../worker/define-agent.ts';
import type { Tools } from '../worker/tool.ts';
import type { ModelCall } from '../turn/steps.ts';
import { questionOf, refundTools } from './refund-tools.ts';
import { supportModel } from './support-model.ts';
import type { AskModel } from './support-model.ts';

export interface SupportAgentOptions {
  /** In the place of the example's own: `lookup_order` and `issue_refund`. */
  readonly tools?: Tools;
  /** In the place of the script. */
  readonly ask?: AskModel;
}

/** A model that asks for tools without end is stopped. */
const MOST_ANSWERS = 8;

/**
 * The journal of a refund: 0 the model asks for both calls, 1 `lookup_order`, 2 `issue_refund`, 3 the person's decision, 4 the model
 * replies. A later attempt gets all of it from the journal, and goes on where it ends.
 */
export function supportAgent({ tools = refundTools, ask = script }: SupportAgentOptions = {}): Agent {
  return defineAgent({ name: 'support', tools, run: (turn) => answer(turn, ask) });
}

const script: AskModel = (asked) => Promise.resolve(supportModel(asked));

async function answer(turn: AgentTurn, ask: AskModel): Promise<readonly FinalEvent[]> {
  const text = turn.inputs.map(({ content }) => contentText(content)).join('\n');
  let outcomes: readonly CallOutcome[] = [];
  for (let answered = 0; answered < MOST_ANSWERS; answered += 1) {
    const asked = { text, answered, outcomes };
    const said = await turn.model(asked, () => ask(asked, turn.signal));
    const { calls, result } = said;
    if (calls.length === 0) {
      return [{ type: 'message.completed', data: { message: turn.turn, role: 'assistant', content: result.text } }];
    }
    outcomes = await carryOut(turn, said);
  }
  throw new AgentError('too_many_answers', `The model asked for tools ${MOST_ANSWERS} times in a row.`, {
    isRetryable: false,
  });
}

async function carryOut(turn: AgentTurn, said: ModelStep): Promise<CallOutcome[]> {
  const outcomes: CallOutcome[] = [];
  for (const [place, call] of said.calls.entries()) {
    const refusal = await refuse(turn, said.index + 1 + place, call);
    outcomes.push(refusal ?? (await turn.call(said, call)));
  }
  return outcomes;
}

/** What the model is told when a person says no: then the tool is not run. Nobody is asked about what the tool will refuse. */
async function refuse(turn: AgentTurn, step: number, call: ModelCall): Promise<CallOutcome | undefined> {
  const { tool, args } = call;
  const reason = tool === 'issue_refund' ? questionOf(args) : undefined;
  if (reason === undefined) return undefined;
  const { decision, by } = await turn.approve(`${turn.turn}:${step}`, { tool, args, reason, call: call.call });
  if (decision === 'approved') return undefined;
  return { call, state: 'failed', error: { code: 'denied', message: `${by} did not approve it.` } };
}

/** A message's content is a text, or parts of which some are texts. */
function contentText(content: string | readonly unknown[]): string {
  if (typeof content === 'string') return content;
  return content
    .map((part) => (typeof part === 'object' && part !== null && 'text' in part ? String(part.text) : ''))
    .join('');
}
