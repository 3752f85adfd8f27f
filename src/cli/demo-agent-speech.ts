/** How the demo's agent speaks, thinks and uses tools: at the pace of a model, listening between its sentences. */
import { sleep } from '../base/clock.ts';
import type { AgentInput, AgentTurn } from '../worker/agent-turn.ts';

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

export interface ToolRun {
  readonly tool: string;
  readonly args: object;
  readonly takesMs: number;
  readonly result: object;
}

export async function runTool(turn: AgentTurn, call: string, run: ToolRun, pause: Pause): Promise<void> {
  const { tool, args, takesMs, result } = run;
  await turn.append('tool.call', { call, tool, args });
  await pause(takesMs, turn.signal);
  await turn.append('tool.result', { call, result });
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
