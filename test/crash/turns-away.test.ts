/** Turns while what they stand on is replaced or away: workers one by one, Postgres within a recovery, NATS. */
import { expect, it } from 'vitest';
import type { AgentDefinition } from '../../src/worker/define-agent.ts';
import { call } from '../support/gateway-calls.ts';
import { countTo } from '../support/ledger.ts';
import { fragileNats, fragilePostgres } from '../support/stage.ts';
import { holdTurn } from '../support/stranger.ts';
import { turnCrew } from '../support/turn-crew.ts';
import { eventually } from '../support/waits.ts';

type Run = AgentDefinition['run'];

const answers: Run = async (turn) => {
  await turn.append('text.delta', { message: turn.turn, text: '.' });
  return [{ type: 'message.completed', data: { message: turn.turn, role: 'assistant' } }];
};

it('workers of one name that replace each other take nothing back, leave nothing behind, and use up no tries [dbos-py#804, oban#862, oban#328]', async () => {
  const crew = await turnCrew({ leaseMs: 30_000 });
  const run: Run = async (turn) => {
    await turn.append('text.delta', { message: turn.turn, text: '.', pid: process.pid });
    await turn.flush();
    if (process.env['IS_LAST'] !== 'yes')
      await new Promise((_, reject) => turn.signal.addEventListener('abort', reject));
    return [{ type: 'message.completed', data: { message: turn.turn, role: 'assistant' } }];
  };
  const start = (isLast: boolean) =>
    crew.worker({ run }, { name: 'host', environment: { LEDGERLINE_DRAIN_MS: '0', IS_LAST: isLast ? 'yes' : 'no' } });
  /** Which processes have written to a session, in order. */
  const writers = async (session: string): Promise<unknown[]> => [
    ...new Set((await crew.told(session)).filter(({ type }) => type === 'text.delta').map(({ data }) => data['pid'])),
  ];

  const sessions = await Promise.all(countTo(5).map(() => crew.session()));
  await Promise.all(sessions.map((session) => crew.say(session, 'Where is order 7731?')));
  const pids: number[] = [];
  let old = await start(false);
  for (const generation of countTo(5)) {
    pids.push(old.pid);
    for (const session of sessions) await crew.hears(session, 'text.delta', generation);
    const next = await start(generation === 5);
    const exit = old.terminate();
    await eventually('it drains', () => old.lines().some((line) => line.includes('"draining"')));
    const late = await crew.session();
    await crew.say(late, 'Where is order 7732?');
    expect(await exit).toBe(0);
    await crew.hears(late, 'text.delta');
    expect(await writers(late)).toEqual([next.pid]);
    old = next;
  }
  await crew.rests();
  pids.push(old.pid);
  for (const session of sessions) {
    expect(await writers(session)).toEqual(pids);
    const started = (await crew.told(session)).filter(({ type }) => type === 'turn.started');
    expect(started.map(({ data }) => data['try'])).toEqual([1, 1, 1, 1, 1, 1]);
  }
  expect(await crew.breaches()).toEqual([]);
});

it('when Postgres restarts in the middle of a recovery pass, the next ones take over all that is left [dbos-py#716]', async () => {
  const postgres = await fragilePostgres();
  const crew = await turnCrew({ leaseMs: 2_000, databaseUrl: postgres.databaseUrl });
  const sessions = await Promise.all(countTo(30).map(() => crew.session()));
  sessions.sort();
  for (const session of sessions) await crew.say(session, 'Where is order 7731?');
  const abandoned = new Set<string>();
  await eventually('all are claimed, by somebody who is not heard of again', async () => {
    const body = JSON.stringify({ worker: 'gone', limit: 50, waitMs: 1_000 });
    const { text } = await call(crew.at, 'POST', '/internal/turns/claim', body);
    for (const { session } of (JSON.parse(text) as { turns: { session: string }[] }).turns) abandoned.add(session);
    return abandoned.size === sessions.length;
  });
  const [first = '', middle = '', last = ''] = [sessions[0], sessions[15], sessions.at(-1)];
  const stranger = await holdTurn(crew.url, middle);
  await stranger.met();
  await crew.hears(first, 'turn.retrying');
  expect((await crew.told(last)).map(({ type }) => type)).not.toContain('turn.retrying');
  await postgres.restart();
  for (const session of sessions) await crew.hears(session, 'turn.retrying');

  await crew.worker({ run: answers });
  await crew.rests();
  for (const session of sessions) {
    expect((await crew.told(session)).filter(({ type }) => type === 'turn.retrying')).toHaveLength(1);
  }
  expect(await crew.breaches()).toEqual([]);
});

it('without NATS messages are taken, turns begin and end, and with it again they go on', async () => {
  const nats = await fragileNats();
  const crew = await turnCrew({ leaseMs: 30_000, natsUrl: nats.url });
  await crew.worker({ run: answers });
  const session = await crew.session();
  const isAnswered = async (turn: number): Promise<void> => {
    expect((await crew.say(session, 'Where is order 7731?')).status).toBe(201);
    await crew.hears(session, 'turn.completed', turn);
  };
  await isAnswered(1);
  await nats.kill();
  for (const turn of [2, 3, 4]) await isAnswered(turn);
  await nats.restart();
  await isAnswered(5);
  expect(await crew.breaches()).toEqual([]);
});
