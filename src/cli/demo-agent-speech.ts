/** Says a text at the pace of a model, word by word, and listens between its sentences. */
import { sleep } from '../base/clock.ts';
import type { AgentInput, AgentTurn } from '../worker/agent-turn.ts';
import { tokenMs, tokens } from './demo-run.ts';

/** Waits so long, or throws why there is nothing to wait for any more. */
export type Pause = (delayMs: number, signal: AbortSignal) => Promise<void>;

export const atItsPace: Pause = async (delayMs, signal) => {
  await sleep(delayMs, signal);
  signal.throwIfAborted();
};

export interface Said {
  readonly text: string;
  /** What somebody threw in; the rest was not said. */
  readonly joined: readonly AgentInput[];
}

export async function speak(turn: AgentTurn, message: string, text: string, pause: Pause): Promise<Said> {
  let said = '';
  for (const sentence of sentences(text)) {
    await recite(turn, message, sentence, pause);
    said += sentence;
    const joined = said === text ? [] : await turn.steering();
    if (joined.length > 0) return { text: said, joined };
  }
  return { text, joined: [] };
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
