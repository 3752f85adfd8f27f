/** The agent of the development server: plays its part of the demo's story, and answers people by a script or a model. */
import type { Agent } from '../worker/define-agent.ts';
import { defineAgent } from '../worker/define-agent.ts';
import type { AgentInput, AgentTurn, FinalEvent } from '../worker/agent-turn.ts';
import type { ModelConfig } from './demo-agent-config.ts';
import { contentText } from './demo-agent-conversation.ts';
import { askModel } from './demo-agent-model.ts';
import { asksForAct, planFor } from './demo-agent-plan.ts';
import type { Plan } from './demo-agent-plan.ts';
import { atItsPace, recite, runTool, speak, think } from './demo-agent-speech.ts';
import type { Pause } from './demo-agent-speech.ts';
import { playStory } from './demo-agent-story.ts';
import { exchangeOf } from './demo-cast.ts';

const TOOL_MS = 900;

/** The story costs no tokens: a model, if there is one, is asked for people alone. */
export function demoAgent(model: ModelConfig | undefined, pause: Pause = atItsPace): Agent {
  const answer = (turn: AgentTurn) => (model === undefined ? followScript(turn, pause) : askModel(turn, model));

  /** A person who writes comes before the story, which then is over. */
  async function run(turn: AgentTurn): Promise<readonly FinalEvent[]> {
    const people = turn.inputs.filter((input) => exchangeOf(input) === undefined);
    const [exchange] = turn.inputs.flatMap((input) => exchangeOf(input) ?? []);
    if (exchange === undefined || people.length > 0) return answer({ ...turn, inputs: people });
    const { final, joined } = await playStory(turn, exchange, pause);
    return joined.length === 0 ? final : answer({ ...turn, inputs: joined });
  }

  return defineAgent({ name: 'demo-agent', run });
}

async function followScript(turn: AgentTurn, pause: Pause): Promise<FinalEvent[]> {
  let inputs = turn.inputs;
  for (let part = 1; ; part += 1) {
    const input = concerned(inputs);
    if (input === undefined) return [];
    const message = `${turn.turn}:${turn.attempt}:${part}`;
    const plan = planFor(contentText(input.content));
    const text =
      plan.kind === 'talk' ? plan.text : await act(turn, plan, `${turn.turn}:${input.sequence}`, message, pause);
    const said = await speak(turn, message, text, pause);
    const completed = { type: 'message.completed', data: { message, role: 'assistant', content: said.text.trimEnd() } };
    if (said.joined.length === 0) return [completed];
    await turn.append(completed.type, completed.data);
    inputs = said.joined;
  }
}

/** The same one at every attempt: a later message that asks for nothing must not make another question of it. */
const concerned = (inputs: readonly AgentInput[]): AgentInput | undefined =>
  inputs.findLast(({ content }) => asksForAct(contentText(content))) ?? inputs.at(-1);

/** Looks the order up, asks, and does what it may; the answer's text. What was done before the decision is not done again. */
async function act(
  turn: AgentTurn,
  plan: Extract<Plan, { kind: 'act' }>,
  approval: string,
  message: string,
  pause: Pause,
): Promise<string> {
  const { tool, args, order } = plan;
  if (!turn.decisions.has(approval)) {
    await think(turn, `${message}:thought`, plan.thought, pause);
    const found = { order, item: 'Aurelia 400 espresso machine', delivered: 'this morning', price: '49.00 EUR' };
    const lookup = { tool: 'orders.lookup', args: { order }, takesMs: TOOL_MS, result: found };
    await runTool(turn, `${message}:lookup`, lookup, pause);
    await recite(turn, message, plan.found, pause);
    await turn.append('message.completed', { message, role: 'assistant', content: plan.found });
  }
  const { decision } = await turn.approve(approval, { tool, args, reason: plan.reason });
  if (decision === 'denied') return plan.declined;
  await runTool(turn, `${message}:act`, { tool, args, takesMs: TOOL_MS, result: plan.result }, pause);
  return plan.done;
}
