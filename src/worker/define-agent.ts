/** Defines an agent for `ledgerline worker`: a name, how much of it runs at once, and what it does with a turn. */
import { hostname } from 'node:os';
import { z } from 'zod';
import { LedgerlineError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { policies } from '../turn/turns.ts';
import type { Policy } from '../turn/turns.ts';
import { AgentError } from './agent-error.ts';
import type { AgentTurn, FinalEvent } from './agent-turn.ts';
import { ToolError, toolsShape } from './tool.ts';
import type { Tools } from './tool.ts';
import { TurnAborted } from './turn-aborted.ts';

export { AgentError, ToolError, TurnAborted };

/** What `run` may return: events that are stored in the transaction that ends the turn. */
export type RunResult = void | readonly FinalEvent[];

/** What the tools take, by their names. */
type Schemas = Readonly<Record<string, z.ZodType>>;

export interface AgentDefinition<Taken extends Schemas = Schemas> {
  /** For people to read. */
  readonly name: string;
  /** So many turns at the same time in one worker, each of another session. 10 if left out. */
  readonly concurrency?: number;
  /** Whether a lost or failed attempt is followed by another (`retry`, if left out) or is the end of its turn (`once`). */
  readonly policy?: Policy;
  /** Tries without progress. 3 if left out. */
  readonly maxAttempts?: number;
  /** From its first claim, a turn may take so long. Four hours if left out. */
  readonly turnMs?: number;
  /** What the model may call, by `turn.call`. None if left out. */
  readonly tools?: Tools<Taken>;
  /**
   * Answers one turn. When it resolves, the turn is completed; when it throws, the attempt has failed, and is tried again
   * unless the error says `isRetryable: false`.
   */
  readonly run: (turn: AgentTurn) => Promise<RunResult>;
}

export interface Agent extends Required<AgentDefinition> {
  readonly [agentBrand]: true;
}

/** The same symbol in every copy of this module, for a worker and its agent may have one each. */
const agentBrand: unique symbol = Symbol.for('ledgerline.agent') as never;

const definitionShape = z.strictObject({
  name: z.string().regex(/^[\x21-\x7e]{1,64}$/, 'is 1 to 64 visible characters without spaces'),
  concurrency: whole(limits.renewAttempts).default(10),
  policy: z.enum(policies, `is one of ${policies.join(', ')}`).default('retry'),
  maxAttempts: whole(limits.totalAttempts).default(limits.maxAttempts),
  turnMs: whole(24 * 86_400_000).default(limits.turnDeadlineMs),
  tools: toolsShape,
  run: z.custom<AgentDefinition['run']>((run) => typeof run === 'function', 'is a function that answers a turn'),
});

/**
 * ```ts
 * export default defineAgent({
 *   name: 'echo',
 *   async run(turn) {
 *     for (const { content } of turn.inputs) await turn.append('text.delta', { message: turn.turn, text: String(content) });
 *     return [{ type: 'message.completed', data: { message: turn.turn, role: 'assistant' } }];
 *   },
 * });
 * ```
 *
 * With a model and tools, whose answers and effects happen once however often `run` begins anew:
 *
 * ```ts
 * tools: {
 *   refund: {
 *     effect: 'transactional',
 *     args: z.strictObject({ order: z.string(), cents: z.int().min(1) }),
 *     run: async ({ order, cents }, { tx, key }) => {
 *       await tx`insert into refund (key, order_id, cents) values (${key}, ${order}, ${cents})`;
 *       return { refunded: cents };
 *     },
 *   },
 * },
 * async run(turn) {
 *   const messages = [...];
 *   for (;;) {
 *     const answer = await turn.model(messages, () => askModel(messages, turn.signal));
 *     if (answer.calls.length === 0) return [{ type: 'message.completed', data: answer.result }];
 *     messages.push(answer.result, await turn.calls(answer));
 *   }
 * }
 * ```
 *
 * Throws `configuration`, which says what is wrong with the definition.
 */
export function defineAgent<const Taken extends Schemas = Schemas>(definition: AgentDefinition<Taken>): Agent {
  const { success, data, error } = definitionShape.safeParse(definition);
  if (success) return { ...data, [agentBrand]: true };
  const faults = error.issues.map(({ path, message }) => `${path.join('.') || 'the definition'}: ${message}`);
  throw new LedgerlineError('configuration', `defineAgent: ${faults.join('; ')}`);
}

export const isAgent = (value: unknown): value is Agent =>
  typeof value === 'object' && value !== null && agentBrand in value;

const WORKER_NAME_LENGTH = 128;

/** For people who ask which process runs a turn. */
export const workerName = (agent: Agent): string => `${agent.name}@${hostname()}`.slice(0, WORKER_NAME_LENGTH);

function whole(highest: number) {
  return z.int().min(1).max(highest, `is a whole number from 1 to ${highest}`);
}
