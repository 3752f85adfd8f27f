/** The demo's whole story in a session at once: text, reasoning, tools, an approval, turns; and what the demo lacks. */
import { demoRun } from '../../src/cli/demo-run.ts';
import { appendEvents } from './answer.ts';
import type { Place } from './gateway-calls.ts';

const extras = [
  { type: 'turn.started', data: { turn: 'turn-x', attempt: 1 } },
  { type: 'text.delta', data: { message: 'm-x', text: 'An attempt that is given up.' } },
  { type: 'tool.call', data: { call: 'call-x', tool: 'stock.check', args: { sku: 'ESP-400-BK' } } },
  { type: 'tool.result', data: { call: 'call-x', error: { code: 'timeout', message: 'no answer in 5 s' } } },
  { type: 'turn.started', data: { turn: 'turn-x', attempt: 2 } },
  { type: 'approval.required', data: { approval: 'approval-x', tool: 'refunds.create', reason: 'Still undecided.' } },
  { type: 'turn.failed', data: { turn: 'turn-x', attempt: 2, error: { code: 'model', message: 'overloaded' } } },
  { type: 'note', data: { text: 'an event of the application’s own', nested: { list: [1, null, true] } } },
  { type: 'message.created', data: { key: 'key-x', role: 'system', content: 'Be brief.' } },
];

/** Resolves with the sequence of the last event. The session is empty before. */
export async function appendDemo(writer: Place, session: string): Promise<number> {
  const events = [...demoRun('one').map(({ type, data }) => ({ type, data })), ...extras];
  for (let index = 0; index < events.length; index += 500) {
    await appendEvents(writer, session, events.slice(index, index + 500));
  }
  return events.length;
}
