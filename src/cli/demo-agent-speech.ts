/** How the demo's agent speaks and thinks: at the pace of a model, listening between its sentences. */
import { sleep } from '../base/clock.ts';
import type { AgentTurn } from '../worker/agent-turn.ts';

/** Waits so long, or throws why there is nothing to wait for any more. */
export type Pause = (delayMs: number, signal: AbortSignal) => Promise<void>;

export const atItsPace: Pause = async (delayMs, signal) => {
  await sleep(delayMs, signal);
  signal.throwIfAborted();
};

/** Resolves with what was said: less than the text when somebody threw something in. */
export async function speak(
  turn: AgentTurn,
  message: string,
  text: string,
  { pause, listen }: { readonly pause: Pause; readonly listen: () => Promise<boolean> },
): Promise<string> {
  let said = '';
  for (const sentence of sentences(text)) {
    await recite(turn, message, sentence, pause);
    said += sentence;
    if (said !== text && (await listen())) return said.trimEnd();
  }
  return text;
}

/** The same, and hears nothing. */
export const recite = (turn: AgentTurn, message: string, text: string, pause: Pause): Promise<void> =>
  utter(turn, 'text.delta', message, text, pause);

export const think = (turn: AgentTurn, message: string, text: string, pause: Pause): Promise<void> =>
  utter(turn, 'reasoning.delta', message, text, pause);

async function utter(turn: AgentTurn, type: string, message: string, text: string, pause: Pause): Promise<void> {
  for (const [index, token] of tokens(text).entries()) {
    await turn.append(type, { message, text: token });
    await pause(tokenMs(token, index), turn.signal);
  }
}

/** With the space that follows each. */
const sentences = (text: string): string[] => text.match(/[^]+?(?:[.!?][”*]*(?:\s+|$)|$)/gu) ?? [];

/** Pieces of about the size that models emit: a short word with the space before it, or a part of a long one. */
function tokens(text: string): string[] {
  return text.match(/\s*\S{1,6}|\s+$/gu) ?? [];
}

/** Uneven as a model is, the same each time, and a little slower after a sentence. */
function tokenMs(text: string, index: number): number {
  return 30 + ((index * 37) % 71) + (/[.:?!]$/.test(text) ? 150 : 0);
}
