/** Workers on a real database: each message is answered once, whatever becomes of the workers. */
import { expect, test } from 'vitest';
import type { AgentTurn } from '../../src/worker/agent-turn.ts';
import { TurnAborted } from '../../src/worker/define-agent.ts';
import { eventually } from '../support/waits.ts';
import { workplace } from '../support/workplace.ts';
import type { Workplace } from '../support/workplace.ts';

const typesOf = async (place: Workplace, session: string): Promise<string[]> =>
  (await place.told(session)).map(({ type }) => type);

const until = (place: Workplace, session: string, type: string, count = 1): Promise<true> =>
  eventually(
    `${type}, ${count} times`,
    async () => (await typesOf(place, session)).filter((one) => one === type).length >= count,
  );

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

const echo = async (turn: AgentTurn) => {
  const text = turn.inputs.map(({ content }) => String(content)).join(' + ');
  for (const word of text.split(' ')) await turn.append('text.delta', { message: turn.turn, text: word });
  return [{ type: 'message.completed', data: { message: turn.turn, role: 'assistant', content: text } }];
};

test('a message is answered under its turn, and the answer is complete when the turn is', async () => {
  const place = await workplace();
  const session = await place.session();
  await place.worker(echo);
  await place.say(session, 'Where is it?');
  await until(place, session, 'turn.completed');
  const told = await place.told(session);
  expect(told.map(({ type }) => type)).toEqual([
    'message.created',
    'turn.started',
    'text.delta',
    'text.delta',
    'text.delta',
    'message.completed',
    'turn.completed',
  ]);
  expect(new Set(told.slice(1).map(({ turn, attempt }) => `${turn} ${attempt}`)).size).toBe(1);
  expect(told[5]?.data).toMatchObject({ content: 'Where is it?' });
  expect(await place.now(session)).toMatchObject({ state: 'idle' });
});

test('many sessions are answered side by side by several workers, never more at once than each may run', async () => {
  const place = await workplace();
  const sessions = await Promise.all(Array.from({ length: 12 }, () => place.session()));
  let running = 0;
  let most = 0;
  const run = async (turn: AgentTurn) => {
    most = Math.max(most, (running += 1));
    await turn.history();
    const events = await echo(turn);
    running -= 1;
    return events;
  };
  await Promise.all([place.worker(run, { concurrency: 2 }), place.worker(run, { concurrency: 1 })]);
  await Promise.all(sessions.flatMap((session) => [place.say(session, 'one'), place.say(session, 'two')]));
  for (const session of sessions) {
    await eventually('every message is answered', async () => {
      const answered = (await place.told(session)).filter(({ type }) => type === 'turn.completed');
      return answered.flatMap(({ data }) => (data as { inputs: number[] }).inputs).length === 2;
    });
  }
  expect(most).toBeLessThanOrEqual(3);
});

test('a question ends the attempt, and its decision reaches the next one', async () => {
  const place = await workplace();
  const session = await place.session();
  await place.worker(async (turn) => {
    const { decision, by } = await turn.approve(`${turn.turn}:refund`, { tool: 'refund', args: { cents: 4_000 } });
    return [{ type: 'message.completed', data: { message: 'm', role: 'assistant', content: `${decision} by ${by}` } }];
  });
  await place.say(session, 'Refund me');
  await until(place, session, 'turn.waiting');
  const asked = (await place.told(session)).find(({ type }) => type === 'approval.required');
  const { approval } = (asked?.data ?? {}) as { approval: string };
  expect(asked?.data).toMatchObject({ tool: 'refund', args: { cents: 4_000 } });
  await place.turns.decide(session, { approval, decision: 'denied', by: 'maya', comment: undefined });
  await until(place, session, 'turn.completed');
  const told = await place.told(session);
  expect(told.map(({ type }) => type)).toEqual([
    'message.created',
    'turn.started',
    'approval.required',
    'turn.waiting',
    'approval.decided',
    'turn.started',
    'message.completed',
    'turn.completed',
  ]);
  expect(told[6]?.data).toMatchObject({ content: 'denied by maya' });
});

test('a stop aborts within a moment, keeps the text, and the next message is answered [vercel/ai#6502]', async () => {
  const place = await workplace();
  const session = await place.session();
  let isFirst = true;
  await place.worker(async (turn) => {
    if (!isFirst) return echo(turn);
    isFirst = false;
    await turn.append('text.delta', { message: 'm', text: 'partial' });
    await turn.flush();
    await aborted(turn.signal);
    throw turn.signal.reason;
  });
  await place.say(session, 'Tell me everything');
  await until(place, session, 'text.delta');
  expect(await place.turns.stop(session, 'maya')).toMatchObject({ isStopping: true });
  await until(place, session, 'turn.cancelled');
  expect(await typesOf(place, session)).toEqual([
    'message.created',
    'turn.started',
    'text.delta',
    'turn.stopping',
    'turn.cancelled',
  ]);
  await place.say(session, 'And now?');
  await until(place, session, 'turn.completed');
});

test('a message that steers joins the running turn', async () => {
  const place = await workplace();
  const session = await place.session();
  await place.worker(async (turn) => {
    await turn.append('note', 'at work');
    const joined = await eventually('it is steered', async () => {
      const inputs = await turn.steering();
      return inputs.length > 0 && inputs;
    });
    return [{ type: 'note', data: joined.map(({ content }) => content) }];
  });
  await place.say(session, 'A long story');
  await until(place, session, 'note');
  await place.say(session, 'but shorter', 'steer');
  await until(place, session, 'turn.completed');
  const told = await place.told(session);
  expect(told.map(({ type }) => type).slice(-4)).toEqual(['message.created', 'turn.steered', 'note', 'turn.completed']);
  expect(told.at(-2)?.data).toEqual(['but shorter']);
});

test('ten workers that are drained in a row use up no attempt, and the eleventh answers [oban#328]', async () => {
  const place = await workplace();
  const session = await place.session();
  await place.say(session, 'Patience');
  for (let drained = 1; drained <= 10; drained += 1) {
    const worker = await place.worker((turn) => aborted(turn.signal));
    await until(place, session, 'turn.started', drained);
    await worker.stop();
  }
  await place.worker(echo);
  await until(place, session, 'turn.completed');
  const started = (await place.told(session)).filter(({ type }) => type === 'turn.started');
  expect(started.map(({ data }) => (data as { try: number }).try)).toEqual(Array.from({ length: 11 }, () => 1));
});

test('an attempt that another took over hears of it, and nothing that it does later is kept [pg-boss#555]', async () => {
  const place = await workplace({ leaseMs: 200, recoverMs: 50 });
  const session = await place.session();
  let attempts = 0;
  let fate: unknown;
  await place.worker(
    async (turn) => {
      attempts += 1;
      if (attempts > 1) return echo(turn);
      await until(place, session, 'turn.completed');
      try {
        await turn.append('text.delta', { text: 'from the dead' });
        await turn.flush();
      } catch (thrown) {
        fate = thrown;
      }
      return [{ type: 'message.completed', data: { message: 'm', content: 'a second answer' } }];
    },
    // Its lease lapses without its knowing, as if the process had been frozen.
    { concurrency: 2, options: { renewMs: 60_000, selfStopMs: 60_000 } },
  );
  await place.say(session, 'Once');
  await until(place, session, 'turn.completed');
  await eventually('the first attempt has ended', () => fate !== undefined);
  expect(fate).toBeInstanceOf(TurnAborted);
  expect(fate).toMatchObject({ why: 'lost' });
  const types = await typesOf(place, session);
  expect(types.filter((type) => type === 'message.completed')).toHaveLength(1);
  expect(types.at(-1)).toBe('turn.completed');
});

test('an agent that fails is tried again until its attempts are used up, and then fails visibly; the next message works', async () => {
  const place = await workplace();
  const session = await place.session();
  await place.worker(
    (turn) => (turn.inputs[0]?.content === 'good' ? echo(turn) : Promise.reject(new Error('password 1234'))),
    { maxAttempts: 1 },
  );
  await place.say(session, 'bad');
  await until(place, session, 'turn.failed');
  const failed = (await place.told(session)).find(({ type }) => type === 'turn.failed');
  expect(failed?.data).toMatchObject({ error: { code: 'agent_failed' } });
  expect(JSON.stringify(failed)).not.toContain('1234');
  await place.say(session, 'good');
  await until(place, session, 'turn.completed');
});
