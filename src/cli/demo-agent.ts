/** The agent of the development server: follows a script, or asks a model if there is one. */
import type { Agent } from '../worker/define-agent.ts';
import { defineAgent } from '../worker/define-agent.ts';
import type { AgentInput, AgentTurn, FinalEvent } from '../worker/agent-turn.ts';
import type { ModelConfig } from './demo-agent-config.ts';
import { contentText } from './demo-agent-conversation.ts';
import { askModel } from './demo-agent-model.ts';
import { asksForAct, planFor } from './demo-agent-plan.ts';
import type { Plan } from './demo-agent-plan.ts';
import { atItsPace, recite, speak, think } from './demo-agent-speech.ts';
import type { Pause } from './demo-agent-speech.ts';

export function demoAgent(model: ModelConfig | undefined, pause: Pause = atItsPace): Agent {
  return defineAgent({
    name: 'demo-agent',
    run: model === undefined ? (turn) => followScript(turn, pause) : (turn) => askModel(turn, model),
  });
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
    await runTool(turn, `${message}:lookup`, 'orders.lookup', { order }, found, pause);
    await recite(turn, message, plan.found, pause);
    await turn.append('message.completed', { message, role: 'assistant', content: plan.found });
  }
  const { decision } = await turn.approve(approval, { tool, args, reason: plan.reason });
  if (decision === 'denied') return plan.declined;
  await runTool(turn, `${message}:act`, tool, args, plan.result, pause);
  return plan.done;
}

const TOOL_MS = 900;

async function runTool(
  turn: AgentTurn,
  call: string,
  tool: string,
  args: object,
  result: object,
  pause: Pause,
): Promise<void> {
  await turn.append('tool.call', { call, tool, args });
  await pause(TOOL_MS, turn.signal);
  await turn.append('tool.result', { call, result });
}
