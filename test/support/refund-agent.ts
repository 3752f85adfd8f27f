/** An agent that refunds by a tool of every class, and tells the provider where it is, so that it can be killed there. */
import type { z as zod } from 'zod';
import type postgres from 'postgres';
import type { Statements } from '../../src/db/postgres.ts';
import type { Agent, defineAgent as define } from '../../src/worker/define-agent.ts';
import type { AgentTurn } from '../../src/worker/agent-turn.ts';
import type { ModelSaid } from '../../src/worker/agent-steps.ts';
import type { OutsideCall } from '../../src/worker/tool.ts';

/** Wrong on purpose, to see that it is noticed. */
export type AgentFault = 'effect_outside' | 'effect_behind' | 'no_key' | 'key_of_arguments' | 'no_journal';

export interface RefundAgentOptions {
  readonly databaseUrl: string;
  readonly providerUrl: string;
  readonly fault?: AgentFault | undefined;
}

interface Libraries {
  readonly defineAgent: typeof define;
  readonly z: typeof zod;
  readonly postgres: typeof postgres;
}

interface Refund {
  readonly order: string;
  readonly cents: number;
}

/** It runs as text, so it uses nothing from around it. */
export function refundAgent(
  { defineAgent, z, postgres: client }: Libraries,
  { databaseUrl, providerUrl, fault }: RefundAgentOptions,
): Agent {
  const args = z.strictObject({ order: z.string(), cents: z.int().min(1) });
  const own: Statements = client(databaseUrl, { max: 1 }) as never;
  let calls = 0;

  async function ask<T>(path: string, body: object): Promise<T> {
    const response = await fetch(`${providerUrl}/${path}`, { method: 'POST', body: JSON.stringify(body) });
    return (await response.json()) as T;
  }
  const at = (point: string): Promise<unknown> => ask('at', { point });
  const insert = (sql: Statements, key: string, { order, cents }: Refund): Promise<unknown> =>
    sql`insert into refund (step_key, order_id, cents) values (${key}, ${order}, ${cents})`;

  function keyOf(key: string, refund: Refund): string {
    if (fault === 'no_key') return `${process.pid}-${(calls += 1)}`;
    return fault === 'key_of_arguments' ? JSON.stringify(refund) : key;
  }
  const run =
    (effect: string) =>
    (refund: Refund, { key }: OutsideCall): Promise<unknown> =>
      ask('act', { effect, key: keyOf(key, refund), ...refund });

  const askModel = async (turn: AgentTurn, isLast: boolean): Promise<ModelSaid<unknown>> => {
    const said = await ask<ModelSaid<unknown>>('model', { content: String(turn.inputs[0]?.content), isLast });
    await at('model answered');
    return said;
  };
  const reply = (turn: AgentTurn) => [
    { type: 'message.completed', data: { message: turn.turn, role: 'assistant' as const } },
  ];

  /** As many do it: begins anew, and numbers the calls by what the model asks for now. */
  async function runWithoutJournal(turn: AgentTurn) {
    const said = await askModel(turn, false);
    for (const [place, { tool, args: refund }] of (said.calls ?? []).entries()) {
      await ask('act', { effect: tool, key: `v1:${turn.turn}:${place + 1}`, ...(refund as Refund) });
    }
    await at('calls settled');
    return reply(turn);
  }

  return defineAgent({
    name: 'refunds',
    tools: {
      transactional: {
        effect: 'transactional',
        args,
        async run(refund, { tx, key, deliver }) {
          if (fault !== 'effect_behind') await insert(fault === 'effect_outside' ? own : tx, key, refund);
          deliver('refund.issued', refund);
          await at('written');
          return refund;
        },
      },
      read: { effect: 'read', args, run: run('read') },
      idempotent: { effect: 'idempotent', args, run: run('idempotent') },
      keyed: { effect: 'keyed', args, run: run('keyed') },
      lookup: {
        effect: 'lookup',
        args,
        async find(_, { key }) {
          const { found } = await ask<{ found: boolean }>('find', { key });
          return found ? { result: 'found' } : undefined;
        },
        run: run('lookup'),
      },
      // undeclared: it promises nothing
      once: { args, run: run('once') },
    },
    async run(turn) {
      if (fault === 'no_journal') return runWithoutJournal(turn);
      for (let isLast = false; ; isLast = true) {
        const answer = await turn.model({ isLast }, () => askModel(turn, isLast));
        await at('model journaled');
        if (answer.calls.length === 0) return reply(turn);
        const outcomes = await turn.calls(answer);
        await at('calls settled');
        // Not again what an earlier attempt has asked for.
        if (fault === 'effect_behind' && !answer.isFromJournal) {
          for (const { call } of outcomes) await insert(own, call.call, call.args as Refund);
        }
      }
    },
  });
}
