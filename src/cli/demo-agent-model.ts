/** Lets a model that speaks OpenAI's chat completions answer a turn, with one tool that a person must approve. */
import type { ModelMessage } from 'ai';
import { z } from 'zod';
import { toError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { AgentTurn, FinalEvent, HistoryEvent } from '../worker/agent-turn.ts';
import { AgentError } from '../worker/agent-error.ts';
import type { ModelConfig } from './demo-agent-config.ts';
import { contentText, conversationOf, toolMessages } from './demo-agent-conversation.ts';
import type { AskedTool } from './demo-agent-conversation.ts';

const INSTRUCTIONS =
  'You are the support agent of a small shop for espresso machines, in a demonstration. Answer briefly and kindly. To give ' +
  'money back use issue_refund; a person approves or denies it.';

/** A model that asks for tools without end is stopped. */
const MOST_STEPS = 8;
/** Of history, in pages of the largest size. Each word of an answer is an event, so this is a conversation of some length. */
const MOST_PAGES = 4;

const refundShape = z.object({ order: z.string(), amount: z.string(), reason: z.string() });

export async function askModel(turn: AgentTurn, config: ModelConfig): Promise<FinalEvent[]> {
  const sdk = await loadSdk();
  const { messages: told, open } = conversationOf(await recentHistory(turn), turn.turn, turn.inputs);
  const messages = [...told];
  for (const asked of open) messages.push(...toolMessages(asked, await settle(turn, asked)));

  for (let step = 1; step <= MOST_STEPS; step += 1) {
    const message = `${turn.turn}:${turn.attempt}:${step}`;
    const { text, tools } = await streamStep(sdk, config, turn, message, messages);
    const completed = { type: 'message.completed', data: { message, role: 'assistant', content: text } };
    if (text !== '') messages.push({ role: 'assistant', content: text });
    const joined = tools.length === 0 ? await turn.steering() : [];
    if (tools.length === 0 && joined.length === 0) return [completed];
    if (text !== '') await turn.append(completed.type, completed.data);
    for (const { content } of joined) messages.push({ role: 'user', content: contentText(content) });
    // All of them are shown before the first one ends the attempt.
    for (const { call, tool, args } of tools) await turn.append('tool.call', { call, tool, args });
    const results = await Promise.all(tools.map((asked) => settle(turn, asked)));
    for (const [index, asked] of tools.entries()) messages.push(...toolMessages(asked, results[index]));
  }
  throw new AgentError('too_many_steps', `The model asked for tools ${MOST_STEPS} times in a row.`, {
    isRetryable: false,
  });
}

type Sdk = Awaited<ReturnType<typeof loadSdk>>;

/** Only when a model is asked for: nobody else needs the packages. */
async function loadSdk() {
  try {
    const [ai, { createOpenAICompatible }] = await Promise.all([import('ai'), import('@ai-sdk/openai-compatible')]);
    return { ...ai, createOpenAICompatible };
  } catch (thrown) {
    const message = 'To ask a model install the packages ai and @ai-sdk/openai-compatible, and start again.';
    throw new AgentError('model_missing', message, { isRetryable: false, cause: thrown });
  }
}

async function streamStep(sdk: Sdk, config: ModelConfig, turn: AgentTurn, message: string, messages: ModelMessage[]) {
  const { baseUrl: baseURL, key: apiKey, model } = config;
  const provider = sdk.createOpenAICompatible({ name: 'openai', baseURL, apiKey });
  const result = sdk.streamText({
    model: provider(model),
    instructions: INSTRUCTIONS,
    messages,
    tools: { issue_refund: sdk.tool({ description: 'Gives money back.', inputSchema: refundShape }) },
    abortSignal: turn.signal,
    // A turn is tried again as a whole, with a pause that everybody sees.
    maxRetries: 0,
    onError: () => undefined, // it comes out of the stream as well
  });
  let text = '';
  let isComplete = false;
  const tools: AskedTool[] = [];
  for await (const part of unbroken(result.fullStream, turn, sdk)) {
    if (part.type === 'text-delta') {
      text += part.text;
      await turn.append('text.delta', { message, text: part.text });
    } else if (part.type === 'reasoning-delta') {
      await turn.append('reasoning.delta', { message: `${message}:thought`, text: part.text });
    } else if (part.type === 'tool-call') {
      tools.push({ call: part.toolCallId, tool: part.toolName, args: part.input });
    } else if (part.type === 'error') {
      turn.signal.throwIfAborted();
      throw modelError(part.error, sdk);
    } else if (part.type === 'finish') {
      // Without the provider's own word the stream was cut, however tidily.
      isComplete = part.rawFinishReason !== undefined;
    }
  }
  turn.signal.throwIfAborted();
  if (!isComplete) throw new AgentError('model_cut', 'The model’s answer broke off.');
  return { text, tools };
}

/** A connection that is lost breaks the stream itself, where other failures are a part of it. */
async function* unbroken<Part>(stream: AsyncIterable<Part>, turn: AgentTurn, sdk: Sdk): AsyncGenerator<Part> {
  try {
    yield* stream;
  } catch (thrown) {
    turn.signal.throwIfAborted();
    throw modelError(thrown, sdk);
  }
}

/** The provider's words may quote the key or the prompt; its status says enough. */
function modelError(thrown: unknown, { APICallError }: Sdk): AgentError {
  // One that said 200 was lost behind its first bytes.
  if (!APICallError.isInstance(thrown) || thrown.statusCode === 200)
    return new AgentError('model_failed', 'The model gave no whole answer.', { cause: thrown });
  const { statusCode, isRetryable } = thrown;
  const answered = statusCode === undefined ? 'did not answer' : `answered ${statusCode}`;
  return new AgentError('model_failed', `The model’s server ${answered}.`, { isRetryable, cause: toError(thrown) });
}

/** Asks a person, and tells the model what came of it. The refund itself is made up. */
async function settle(turn: AgentTurn, { call, tool, args }: AskedTool): Promise<object> {
  const result = await outcome(turn, call, tool, args);
  await turn.append('tool.result', { call, result });
  return result;
}

async function outcome(turn: AgentTurn, call: string, tool: string, args: unknown): Promise<object> {
  const refund = refundShape.safeParse(args);
  if (tool !== 'issue_refund' || !refund.success) return { error: `there is no tool ${tool} that takes this` };
  const { amount, order } = refund.data;
  const reason = `The agent wants to refund ${amount} of order ${order}.`;
  const { decision, by, comment } = await turn.approve(approvalId(turn, call), { tool, args, reason, call });
  return decision === 'denied' ? { denied: true, by, comment: comment ?? null } : { refunded: amount, order };
}

/** A provider's ids may hold anything. */
const approvalId = ({ turn }: AgentTurn, call: string): string =>
  `${turn}:${call.replaceAll(/[^A-Za-z0-9._:-]/g, '_')}`.slice(0, limits.approvalIdLength);

async function recentHistory(turn: AgentTurn): Promise<HistoryEvent[]> {
  let events: readonly HistoryEvent[] = [];
  let before: number | undefined;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const older = await turn.history({ limit: limits.historyRows, ...(before === undefined ? {} : { before }) });
    events = [...older, ...events];
    before = older[0]?.sequence;
    if (before === undefined || before === 1) break;
  }
  return [...events];
}
