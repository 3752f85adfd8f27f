/** The demo's agent without a model: it follows a plan, and answers as a model would be asked to, one answer at a time. */
import type { AgentInput } from '../worker/agent-turn.ts';
import { contentText } from './demo-agent-conversation.ts';
import { asksForRefund, planFor, replyTo } from './demo-agent-plan.ts';
import { recite, speak, think } from './demo-agent-speech.ts';
import type { Pause } from './demo-agent-speech.ts';
import type { Ask } from './demo-agent-ask.ts';

export function followScript(pause: Pause): Ask {
  return async ({ turn, message, inputs, rounds, listen }) => {
    const last = rounds.at(-1)?.said;
    if (last !== undefined && !last.isCut) {
      const { heard } = last; // it still answers the message that led to the calls
      const text = await speak(turn, message, replyTo(rounds.at(-1)?.outcomes ?? []), { pause, listen });
      return { result: { text, heard } };
    }
    const input = concerned(inputs.filter(({ sequence }) => sequence > (last?.heard ?? 0)));
    if (input === undefined) return { result: { text: '' } };
    const { thought, text, calls } = planFor(contentText(input.content));
    if (thought !== '') await think(turn, `${message}:thought`, thought, pause);
    if (calls.length === 0) return { result: { text: await speak(turn, message, text, { pause, listen }) } };
    await recite(turn, message, text, pause);
    return { result: { thought, text }, calls: calls.map((call) => ({ ...call, call: `${message}:${call.tool}` })) };
  };
}

/** A later message that asks for nothing must not make another question of it. */
const concerned = (inputs: readonly AgentInput[]): AgentInput | undefined =>
  inputs.findLast(({ content }) => asksForRefund(contentText(content))) ?? inputs.at(-1);
