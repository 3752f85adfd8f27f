/** A session's events as the messages that a model is asked with (pure). */
import type { ModelMessage } from 'ai';
import type { AgentInput, HistoryEvent } from '../worker/agent-turn.ts';

/** A tool that the model asked for, in this turn, and what came of it so far. */
export interface AskedTool {
  readonly call: string;
  readonly tool: string;
  readonly args: unknown;
  readonly result?: unknown;
}

export interface Conversation {
  readonly messages: readonly ModelMessage[];
  /** What this turn's earlier attempts left undone when they asked a person. */
  readonly open: readonly AskedTool[];
}

interface Data {
  readonly turn?: string;
  readonly attempt?: number;
  readonly role?: string;
  readonly content?: unknown;
  readonly call?: string;
  readonly tool?: string;
  readonly args?: unknown;
  readonly result?: unknown;
}

const dataOf = ({ data }: HistoryEvent): Data => (typeof data === 'object' && data !== null ? data : {});

/**
 * First what was said before this turn, then the messages that it answers, then what it said and did before it asked a
 * person. What an attempt wrote that was tried again is no part of the conversation, as it is none of the page's.
 */
export function conversationOf(
  events: readonly HistoryEvent[],
  turn: string,
  inputs: readonly AgentInput[],
): Conversation {
  const own = new Set(inputs.map(({ sequence }) => sequence));
  const newest = Math.max(...own);
  const retried = new Set(
    events.filter(({ type }) => type === 'turn.retrying').map((event) => attemptOf(dataOf(event))),
  );
  const waited = new Set(events.filter(({ type }) => type === 'turn.waiting').map((event) => attemptOf(dataOf(event))));
  const earlier: ModelMessage[] = [];
  const ours: ModelMessage[] = [];
  const tools = new Map<string, AskedTool>();

  for (const event of events) {
    const data = dataOf(event);
    const isOurs = event.turn === turn;
    if (event.type === 'message.created' && !own.has(event.sequence) && event.sequence < newest) {
      if (data.role === 'user') earlier.push({ role: 'user', content: contentText(data.content) });
    }
    if (isOurs ? !waited.has(attemptOf(event)) : retried.has(attemptOf(event))) continue;
    const said = event.type === 'message.completed' ? contentText(data.content) : '';
    if (said !== '') (isOurs ? ours : earlier).push({ role: 'assistant', content: said });
    if (!isOurs || data.call === undefined) continue;
    const { call, tool = '', args, result } = data;
    if (event.type === 'tool.call') tools.set(call, { call, tool, args });
    const asked = tools.get(call);
    if (event.type === 'tool.result' && asked !== undefined) tools.set(call, { ...asked, result });
  }

  const asking = [...tools.values()];
  for (const tool of asking) if (tool.result !== undefined) ours.push(...toolMessages(tool, tool.result));
  const questions = inputs.map(({ content }): ModelMessage => ({ role: 'user', content: contentText(content) }));
  return {
    messages: [...earlier, ...questions, ...ours],
    open: asking.filter(({ result }) => result === undefined),
  };
}

/** A call and its result, as the model wants to see them: side by side. */
export function toolMessages({ call, tool, args }: AskedTool, result: unknown): ModelMessage[] {
  const common = { toolCallId: call, toolName: tool };
  const output = { type: 'json', value: result as never } as const;
  return [
    { role: 'assistant', content: [{ type: 'tool-call', ...common, input: args }] },
    { role: 'tool', content: [{ type: 'tool-result', ...common, output }] },
  ];
}

/** The text of a message's content, whose other parts the demo has no use for. */
export function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part: unknown) => (typeof part === 'object' && part !== null && 'text' in part ? String(part.text) : ''))
    .join('');
}

const attemptOf = ({ turn, attempt }: Pick<Data, 'turn' | 'attempt'>): string => `${turn}:${attempt}`;
