/** Many sessions, many workers, and senders that repeat themselves: each message is answered once, one turn after the other. */
import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import type { AgentDefinition } from '../../src/worker/define-agent.ts';
import type { CallAnswer } from '../support/gateway-calls.ts';
import { countTo, withSql } from '../support/ledger.ts';
import { database } from '../support/stage.ts';
import { turnCrew } from '../support/turn-crew.ts';

const run: AgentDefinition['run'] = async (turn) => {
  for (const { content } of turn.inputs) await turn.append('text.delta', { message: turn.turn, text: content });
  return [{ type: 'message.completed', data: { message: turn.turn, role: 'assistant' } }];
};

/** How many requests are under way at the same time. */
const SENDERS = 20;

it.each([
  { default: 'read committed', workers: 8, sessions: 300, messages: 1_200 },
  // as some hosts have it [graphile#387]
  { default: 'serializable', workers: 3, sessions: 10, messages: 200 },
] as const)(
  '$messages messages, one in five of them sent twice, are answered once by $workers workers of a database that is $default by default [I10]',
  async ({ default: isolation, ...numbers }) => {
    const { url } = await database(isolation === 'serializable' ? { isolation } : {});
    const crew = await turnCrew({ leaseMs: 30_000, databaseUrl: url });
    const workers = await Promise.all(countTo(numbers.workers).map(() => crew.worker({ run })));
    const sessions = await Promise.all(countTo(numbers.sessions).map(() => crew.session()));

    async function send(message: number): Promise<CallAnswer[]> {
      const session = sessions[message % sessions.length] ?? '';
      const key = randomUUID();
      const once = () => crew.say(session, `message ${message}`, key);
      if (message % 5 !== 0) return [await once()];
      return message % 2 === 0 ? Promise.all([once(), once()]) : [await once(), await once()];
    }
    const left = countTo(numbers.messages);
    const senders = countTo(SENDERS).map(async () => {
      for (let message = left.pop(); message !== undefined; message = left.pop()) {
        const answers = await send(message);
        const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
        expect(statuses, answers[0]?.text).toEqual(answers.length === 1 ? [201] : [200, 201]);
        expect(new Set(answers.map(({ text }) => (JSON.parse(text) as { sequence: number }).sequence)).size).toBe(1);
      }
    });
    await Promise.all(senders);
    await crew.rests();

    expect(await crew.breaches()).toEqual([]);
    const requests = await withSql(
      crew.url,
      (sql) => sql<{ status: string; count: number }[]>`
        select status, count(*)::int as count from ledgerline.turn_request group by status`,
    );
    expect([...requests]).toEqual([{ status: 'done', count: numbers.messages }]);
    const complaints = workers.flatMap((worker) => worker.lines()).filter((line) => !line.includes('"level":30'));
    expect([...complaints, crew.at.output()].join('')).toBe('');
  },
);
