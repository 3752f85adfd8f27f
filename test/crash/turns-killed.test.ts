/** Kill -9 at every point of a message's way to its answer: it is answered once, by what it was from the start. */
import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import type { AgentDefinition } from '../../src/worker/define-agent.ts';
import { holdCommit, holdRequests, holdSession, waitAtCommit } from '../support/stranger.ts';
import type { Blocker } from '../support/stranger.ts';
import { turnCrew } from '../support/turn-crew.ts';
import { eventually } from '../support/waits.ts';

type Run = AgentDefinition['run'];

const LEASE_MS = 1_000;

const answers: Run = async (turn) => {
  for (const text of ['one ', 'two ']) await turn.append('text.delta', { message: turn.turn, text });
  return [{ type: 'message.completed', data: { message: turn.turn, role: 'assistant' } }];
};

/** As the other, but that the model's first answer breaks off in the middle. */
const breaksOff: Run = async (turn) => {
  await turn.append('text.delta', { message: turn.turn, text: 'one ' });
  await turn.flush();
  if (turn.attempt === 1) await new Promise(() => undefined);
  await turn.append('text.delta', { message: turn.turn, text: 'two ' });
  return [{ type: 'message.completed', data: { message: turn.turn, role: 'assistant' } }];
};

/** All is said, and what ends the turn is not begun. */
const saysNoMore: Run = async (turn) => {
  for (const text of ['one ', 'two ']) await turn.append('text.delta', { message: turn.turn, text });
  await turn.flush();
  if (turn.attempt === 1) await new Promise(() => undefined);
  return [{ type: 'message.completed', data: { message: turn.turn, role: 'assistant' } }];
};

/** What waits for the session's row ends with its client. */
async function severedSession(url: string, session: string): Promise<Blocker> {
  const stranger = await holdSession(url, session);
  return { ...stranger, release: () => stranger.sever() };
}

interface Point {
  readonly when: string;
  readonly run: Run;
  /** Stops the worker there… */
  readonly hold?: (url: string, session: string) => Promise<Blocker>;
  /** …or it stops by itself behind so many events. */
  readonly head?: number;
  /** How often the first message's turn begins. */
  readonly attempts: number;
  /** What is said meanwhile joins a turn that no claim has begun; any other is as it was. */
  readonly turns: number;
}

const points: readonly Point[] = [
  { when: 'before its claim is committed', run: answers, hold: holdRequests, attempts: 1, turns: 1 },
  {
    when: 'after its claim is committed, before it knows',
    run: answers,
    hold: (url, session) => holdCommit(url, session, 'turn.started'),
    attempts: 2,
    turns: 2,
  },
  { when: "during the model's stream", run: breaksOff, head: 3, attempts: 2, turns: 2 },
  { when: 'before the final transaction', run: saysNoMore, head: 4, attempts: 2, turns: 2 },
  { when: 'inside the final transaction', run: answers, hold: severedSession, attempts: 2, turns: 2 },
  // It is one statement, which goes on without its client.
  { when: 'inside the final transaction, by itself', run: answers, hold: holdSession, attempts: 1, turns: 2 },
  {
    when: 'after the final transaction, before the answer is read',
    run: answers,
    hold: (url, session) => holdCommit(url, session, 'turn.completed'),
    attempts: 1,
    turns: 2,
  },
];

it.each(points.map((point) => [point.when, point] as const))(
  'a worker killed %s leaves a turn that has one reply, to the inputs that it had [I10] [I12]',
  async (_, { run, hold, head, attempts, turns }) => {
    const crew = await turnCrew({ leaseMs: LEASE_MS });
    await waitAtCommit(crew.url);
    const session = await crew.session();
    expect((await crew.say(session, 'Where is order 7731?')).status).toBe(201);
    const stranger = await hold?.(crew.url, session);
    const victim = await crew.worker({ run });
    if (head !== undefined) {
      await eventually('the worker has said so much', async () => (await crew.told(session)).length >= head);
    }
    await stranger?.met();
    expect((await crew.told(session)).map(({ type }) => type)).not.toContain('turn.completed');
    await victim.kill();
    await stranger?.release();

    await crew.say(session, 'And order 7732?');
    await crew.worker({ run });
    await crew.rests();
    const events = await crew.told(session);
    const started = events.filter(({ type }) => type === 'turn.started');
    expect(started.filter(({ turn }) => turn === started[0]?.turn)).toHaveLength(attempts);
    expect(events.filter(({ type }) => type === 'message.completed')).toHaveLength(turns);
    expect(await crew.breaches()).toEqual([]);
  },
);

it('a gateway killed in or behind the commit of a message, before it answers, has stored it once or not at all [I10] [anthropic-sdk-java#370]', async () => {
  const crew = await turnCrew({ leaseMs: LEASE_MS });
  await waitAtCommit(crew.url);
  for (const [hold, repeated] of [
    [holdSession, 201],
    [(url: string, session: string) => holdCommit(url, session, 'message.created'), 200],
  ] as const) {
    const session = await crew.session();
    const key = randomUUID();
    const stranger = await hold(crew.url, session);
    const lost = crew.say(session, 'Where is order 7731?', key).catch(() => 'no answer');
    await stranger.met();
    await crew.at.kill();
    await stranger.release();
    expect(await lost).toBe('no answer');
    await crew.at.restart();
    expect((await crew.say(session, 'Where is order 7731?', key)).status).toBe(repeated);
    expect((await crew.told(session)).map(({ type }) => type)).toEqual(['message.created']);
  }
  await crew.worker({ run: answers });
  await crew.rests();
  expect(await crew.breaches()).toEqual([]);
});

it('a turn that kills every worker fails where everybody sees it, and the next message is answered [I13] [river#1258, graphile#254]', async () => {
  const crew = await turnCrew({ leaseMs: LEASE_MS });
  const session = await crew.session();
  const run: Run = async (turn) => {
    await turn.append('text.delta', { message: turn.turn, text: 'hm ' });
    await turn.flush();
    if (turn.inputs.some(({ content }) => content === 'die')) process.kill(process.pid, 'SIGKILL');
    return [{ type: 'message.completed', data: { message: turn.turn, role: 'assistant' } }];
  };
  await crew.say(session, 'die');
  for (const _ of ['first', 'second', 'last']) expect(await (await crew.worker({ run })).exit).toBe(128 + 9);
  const failed = await crew.hears(session, 'turn.failed');
  expect(failed.filter(({ type }) => type === 'turn.started').map(({ data }) => data['try'])).toEqual([1, 2, 3]);
  expect(failed.at(-1)?.data).toMatchObject({ error: { code: 'worker_lost' } });

  await crew.worker({ run });
  await crew.say(session, 'live');
  await crew.hears(session, 'turn.completed');
  expect(await crew.breaches()).toEqual([]);
});

it('a last attempt that is killed inside its final transaction ends visibly, too', async () => {
  const crew = await turnCrew({ leaseMs: LEASE_MS });
  const session = await crew.session();
  await crew.say(session, 'Where is order 7731?');
  const stranger = await severedSession(crew.url, session);
  const victim = await crew.worker({ run: answers, maxAttempts: 1 });
  await stranger.met();
  await victim.kill();
  await stranger.release();
  const events = await crew.hears(session, 'turn.failed');
  expect(events.map(({ type }) => type)).not.toContain('message.completed');
  await crew.rests();
  expect(await crew.breaches()).toEqual([]);
});
