/** Lets a model that speaks OpenAI's chat completions answer people, with the tools of the worked example. */
import type { ModelMessage } from 'ai';
import { toError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { lookupShape, refundShape } from '../example/refund-tools.ts';
import type { ModelCall } from '../turn/steps.ts';
import type { AgentTurn, HistoryEvent } from '../worker/agent-turn.ts';
import { AgentError } from '../worker/agent-error.ts';
import type { ModelConfig } from './demo-agent-config.ts';
import { conversationOf } from './demo-agent-conversation.ts';
import type { Ask } from './demo-agent-ask.ts';

const INSTRUCTIONS =
  'You are the support agent of a small shop for espresso machines, in a demonstration. Answer briefly and kindly. Look an ' +
  'order up with lookup_order before you speak of it. To give money back use issue_refund, with whole cents; a person approves or ' +
  'denies it. There are orders 7731, 7732 and 7733.';

/** Of history, in pages of the largest size. Each word of an answer is an event, so this is a conversation of some length. */
const MOST_PAGES = 4;

export function askModel(config: ModelConfig): Ask {
  return async ({ turn, message, inputs, rounds, listen }) => {
    const sdk = await loadSdk();
    const messages = conversationOf(await recentHistory(turn), { turn: turn.turn, inputs, rounds });
    const { calls, ...result } = await streamStep(sdk, config, turn, message, messages);
    if (calls.length === 0) await listen();
    return { result, calls };
  };
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
    tools: {
      lookup_order: sdk.tool({ description: 'Looks an order up.', inputSchema: lookupShape }),
      issue_refund: sdk.tool({ description: 'Gives so many cents back.', inputSchema: refundShape }),
    },
    abortSignal: turn.signal,
    // A turn is tried again as a whole, with a pause that everybody sees.
    maxRetries: 0,
    onError: () => undefined, // it comes out of the stream as well
  });
  let thought = '';
  let text = '';
  let isComplete = false;
  const calls: ModelCall[] = [];
  for await (const part of unbroken(result.fullStream, turn, sdk)) {
    if (part.type === 'text-delta') {
      text += part.text;
      await turn.append('text.delta', { message, text: part.text });
    } else if (part.type === 'reasoning-delta') {
      thought += part.text;
      await turn.append('reasoning.delta', { message: `${message}:thought`, text: part.text });
    } else if (part.type === 'tool-call') {
      calls.push({ call: part.toolCallId, tool: part.toolName, args: part.input });
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
  return { thought, text, calls };
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
