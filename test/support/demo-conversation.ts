/** The demo's whole story in a session at once: text, reasoning, tools, an approval, turns; and what the demo lacks. */
import { demoScript } from '../../src/cli/demo-script.ts';
import type { Beat } from '../../src/cli/demo-script.ts';
import { appendEvents } from './answer.ts';
import type { Place } from './gateway-calls.ts';

interface Event {
  readonly type: string;
  readonly data: object;
}

const extras = [
  { type: 'turn.started', data: { turn: 'turn-x', attempt: 1 } },
  { type: 'text.delta', data: { message: 'm-x', text: 'An attempt that is given up.' } },
  { type: 'tool.call', data: { call: 'call-x', tool: 'check_stock', args: { sku: 'ESP-400-BK' } } },
  { type: 'tool.result', data: { call: 'call-x', error: { code: 'timeout', message: 'no answer in 5 s' } } },
  { type: 'turn.started', data: { turn: 'turn-x', attempt: 2 } },
  { type: 'approval.required', data: { approval: 'approval-x', tool: 'issue_refund', reason: 'Still undecided.' } },
  { type: 'turn.failed', data: { turn: 'turn-x', attempt: 2, error: { code: 'model', message: 'overloaded' } } },
  { type: 'note', data: { text: 'an event of the application’s own', nested: { list: [1, null, true] } } },
  { type: 'message.created', data: { key: 'key-x', role: 'system', content: 'Be brief.' } },
];

/** Resolves with the sequence of the last event. The session is empty before. */
export async function appendDemo(writer: Place, session: string): Promise<number> {
  const events = [...story(), ...extras];
  for (let index = 0; index < events.length; index += 500) {
    await appendEvents(writer, session, events.slice(index, index + 500));
  }
  return events.length;
}

/** As producers tell it that know nothing of the server's turns. */
function story(): Event[] {
  let count = 0;
  const id = (what: string): string => `${what}-one-${(count += 1)}`;
  return demoScript.flatMap(({ question, beats }) => {
    const turn = id('turn');
    let attempt = 1;
    const begun = (): Event => ({ type: 'turn.started', data: { turn, attempt } });
    const called = (tool: string, args: object, result: object): Event[] => {
      const call = id('call');
      return [
        { type: 'tool.call', data: { call, tool, args } },
        { type: 'tool.result', data: { call, result } },
      ];
    };
    const told = (beat: Beat): Event[] => {
      switch (beat.kind) {
        case 'thought':
          return deltas('reasoning.delta', id('message'), beat.text);
        case 'fragment': {
          const broken = deltas('text.delta', id('message'), beat.text);
          attempt += 1;
          return [...broken, begun()];
        }
        case 'answer': {
          const message = id('message');
          const data = { message, role: 'assistant', content: beat.text };
          return [...deltas('text.delta', message, beat.text), { type: 'message.completed', data }];
        }
        case 'tool': {
          const { tool, args, result } = beat;
          return called(tool, args, result);
        }
        case 'approval': {
          const { tool, args, reason, approved } = beat;
          const approval = id('approval');
          return [
            { type: 'approval.required', data: { approval, tool, args, reason } },
            { type: 'approval.decided', data: { approval, decision: 'approved', by: 'maya@support' } },
            ...called(tool, args, { refund: `v1:${turn}:7`, ...args }),
            ...approved.flatMap(told),
          ];
        }
      }
    };
    return [
      { type: 'message.created', data: { key: id('key'), role: 'user', content: question } },
      begun(),
      ...beats.flatMap(told),
      { type: 'turn.completed', data: { turn, attempt } },
    ];
  });
}

const deltas = (type: string, message: string, text: string): Event[] =>
  (text.match(/\s*\S+/gu) ?? []).map((word) => ({ type, data: { message, text: word } }));
