/** A session's events, and the turn's own answers, as the messages that a model is asked with (pure). */
import type { ModelMessage } from 'ai';
import type { CallOutcome } from '../worker/agent-steps.ts';
import type { AgentInput, HistoryEvent } from '../worker/agent-turn.ts';
import type { Round } from './demo-agent-ask.ts';

interface Data {
  readonly turn?: string;
  readonly attempt?: number;
  readonly role?: string;
  readonly content?: unknown;
}

const dataOf = ({ data }: HistoryEvent): Data => (typeof data === 'object' && data !== null ? data : {});

export interface OwnTurn {
  readonly turn: string;
  readonly inputs: readonly AgentInput[];
  /** Its answers so far: by the journal, and never by the events of its attempts. */
  readonly rounds: readonly Round[];
}

/** First what was said before this turn; then each message that it answers before the first answer that knew of it. */
export function conversationOf(events: readonly HistoryEvent[], { turn, inputs, rounds }: OwnTurn): ModelMessage[] {
  const messages = saidBefore(events, turn, inputs);
  let heard = 0;
  const hear = (until: number): void => {
    for (const { sequence, content } of inputs) {
      if (sequence > heard && sequence <= until) messages.push({ role: 'user', content: contentText(content) });
    }
    heard = Math.max(heard, until);
  };
  for (const { said, outcomes } of rounds) {
    hear(said.heard);
    if (said.text !== '') messages.push({ role: 'assistant', content: said.text });
    for (const outcome of outcomes) messages.push(...toolMessages(outcome));
  }
  hear(Infinity);
  return messages;
}

/** What an attempt wrote that was tried again is no part of the conversation, as it is none of the page's. */
function saidBefore(events: readonly HistoryEvent[], turn: string, inputs: readonly AgentInput[]): ModelMessage[] {
  const own = new Set(inputs.map(({ sequence }) => sequence));
  const newest = Math.max(...own);
  const retried = new Set(
    events.filter(({ type }) => type === 'turn.retrying').map((event) => attemptOf(dataOf(event))),
  );
  const messages: ModelMessage[] = [];
  for (const event of events) {
    const { role, content } = dataOf(event);
    if (event.type === 'message.created' && !own.has(event.sequence) && event.sequence < newest) {
      if (role === 'user') messages.push({ role, content: contentText(content) });
    }
    if (event.type !== 'message.completed' || event.turn === turn || retried.has(attemptOf(event))) continue;
    const text = contentText(content);
    if (text !== '') messages.push({ role: 'assistant', content: text });
  }
  return messages;
}

/** A call and what came of it, as the model wants to see them: side by side. */
function toolMessages(outcome: CallOutcome): ModelMessage[] {
  const { call, tool, args } = outcome.call;
  const common = { toolCallId: call, toolName: tool };
  const value = outcome.state === 'done' ? outcome.result : { error: outcome.error };
  const output = { type: 'json', value: value as never } as const;
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
