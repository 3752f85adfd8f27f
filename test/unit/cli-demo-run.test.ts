/** The demo is a run as an agent would append it. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { demoRun } from '../../src/cli/demo-run.ts';
import { eventTypeShape } from '../../src/event/event.ts';

const run = demoRun('one');
const ofType = (type: string) => run.filter((event) => event.type === type);

const delta = z.object({ message: z.string(), text: z.string() });
const completed = z.object({ message: z.string(), role: z.literal('assistant'), content: z.string() });
const messages = ofType('message.completed').map((event) => completed.parse(event.data));
const texts = new Map<string, string>();
for (const { message, text } of ofType('text.delta').map((event) => delta.parse(event.data))) {
  texts.set(message, (texts.get(message) ?? '') + text);
}

describe('the demo', () => {
  it('lasts between one and one and a half minutes', () => {
    const seconds = run.reduce((sum, event) => sum + event.afterMs, 0) / 1_000;
    expect(seconds).toBeGreaterThan(60);
    expect(seconds).toBeLessThan(90);
  });

  it('shows every kind of event that a run is made of', () => {
    const types = new Set(run.map((event) => event.type));
    expect([...types].toSorted()).toEqual([
      'approval.decided',
      'approval.required',
      'message.completed',
      'message.created',
      'reasoning.delta',
      'text.delta',
      'tool.call',
      'tool.result',
      'turn.completed',
      'turn.started',
    ]);
    for (const type of types) expect(eventTypeShape.parse(type)).toBe(type);
  });

  it('completes each message with exactly the text of its deltas, but the one whose attempt broke off', () => {
    const fragment = [...texts].find(([message]) => !messages.some((other) => other.message === message));
    expect(messages.map(({ message, content }) => [message, content])).toEqual(
      [...texts].filter(([message]) => message !== fragment?.[0]),
    );
    expect(messages.at(-1)?.content.startsWith(`${fragment?.[1]} `)).toBe(true);
  });

  it('breaks one attempt off in the middle of its answer, and the next one answers', () => {
    const boundary = z.object({ turn: z.string(), attempt: z.number() });
    const boundaries = run.filter(({ type }) => type.startsWith('turn.'));
    expect(boundaries.map(({ type, data }) => [type, boundary.parse(data).turn, boundary.parse(data).attempt])).toEqual(
      [
        ['turn.started', 'turn-one-1', 1],
        ['turn.completed', 'turn-one-1', 1],
        ['turn.started', 'turn-one-2', 1],
        ['turn.started', 'turn-one-2', 2],
        ['turn.completed', 'turn-one-2', 2],
      ],
    );
    const second = run.findLastIndex(({ type }) => type === 'turn.started');
    expect([run[second - 1]?.type, run[second + 1]?.type]).toEqual(['text.delta', 'text.delta']);
  });

  it('answers each tool call once, after it was made', () => {
    const call = z.object({ call: z.string() });
    const calls = ofType('tool.call').map((event) => call.parse(event.data).call);
    const results = ofType('tool.result').map((event) => call.parse(event.data).call);
    expect(results).toEqual(calls);
    expect(new Set(calls).size).toBe(calls.length);
  });

  it('shares no id with another performance', () => {
    const ids = (events: typeof run) =>
      JSON.stringify(events.map((event) => event.data)).match(/"[a-z]+-(one|two)-\d+"/g) ?? [];
    const first = new Set(ids(run));
    expect(first.size).toBeGreaterThan(10);
    expect(ids(demoRun('two')).filter((id) => first.has(id))).toEqual([]);
  });
});
