/** A message comes in: stored once, asked for once, and never lost on an agent that is busy. */
import { beforeEach, describe, expect, test } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import { silentLog } from '../../src/base/log.ts';
import { toSequence } from '../../src/event/sequence.ts';
import type { TurnState } from '../../src/event/turn-state.ts';
import { createPool } from '../../src/db/pool.ts';
import { entombSession } from '../../src/ledger/session-row.ts';
import { sessionWork } from '../../src/turn/session-work.ts';
import { createTransact } from '../../src/turn/transaction.ts';
import type { OnBusy } from '../../src/turn/turns.ts';
import { anEvent, countTo, holdHeads } from '../support/ledger.ts';
import { refusalOf } from '../support/refusal.ts';
import { turnStage } from '../support/turn-stage.ts';
import type { TurnStage } from '../support/turn-stage.ts';

let stage: TurnStage;
beforeEach(async () => {
  stage = await turnStage();
});

test('a message is stored with its request, claimed, answered, and done in one piece', async () => {
  const session = await stage.session();
  const { sequence } = await stage.say(session, 'Where is order 7731?', { key: 'k1' });
  const turn = await stage.claimOne();
  expect(turn).toMatchObject({ session, attempt: 1, tryNumber: 1, maxAttempts: 3, head: 2, decisions: [] });
  expect(turn.inputs).toMatchObject([{ sequence }]);
  expect(JSON.parse(turn.inputs[0]?.data ?? '')).toEqual({
    key: 'k1',
    role: 'user',
    content: 'Where is order 7731?',
    by: 'maya',
    onBusy: 'enqueue',
  });
  await stage.sessions.append({ session, events: [anEvent('{"text":"On"}')], fence: turn });
  const answer = anEvent('{"content":"On its way"}', 'message.completed');
  expect(await stage.turns.finish(turn, 'completed', [answer])).toEqual({ state: 'idle', status: 'done', sequence: 5 });
  const events = await stage.events(session);
  expect(events.map(({ type, turn: of, attempt }) => [type, of, attempt])).toEqual([
    ['message.created', undefined, undefined],
    ['turn.started', turn.turn, 1],
    ['text.delta', turn.turn, 1],
    ['message.completed', turn.turn, 1],
    ['turn.completed', turn.turn, 1],
  ]);
  expect(events.at(1)?.data).toEqual({ turn: turn.turn, attempt: 1, try: 1, inputs: [1] });
  expect(await stage.now(session)).toMatchObject({ state: 'idle', turn: undefined });
});

describe('a message that is sent again', () => {
  test('by the same key has the first answer, however many send it at once [TanStack AI, anthropic-sdk-java#370]', async () => {
    const session = await stage.session();
    const answers = await Promise.all(countTo(20).map(() => stage.say(session, 'once', { key: 'k' })));
    expect(new Set(answers.map(({ sequence }) => sequence))).toEqual(new Set([1]));
    expect(answers.filter(({ isRepeat }) => !isRepeat)).toHaveLength(1);
    expect(await stage.types(session)).toEqual(['message.created']);
    const turn = await stage.claimOne();
    expect(turn.inputs).toHaveLength(1);
    await stage.turns.finish(turn, 'completed', []);
    expect(await stage.say(session, 'once', { key: 'k' })).toEqual({ sequence: 1, isRepeat: true, state: 'idle' });
    expect(await stage.claim()).toEqual([]);
  });

  test('with other content is refused, with the place of the first', async () => {
    const session = await stage.session();
    await stage.say(session, 'one', { key: 'k' });
    expect(await refusalOf(stage.say(session, 'two', { key: 'k' }))).toMatchObject({
      code: 'request_conflict',
      fields: { sequence: 1 },
    });
    expect(await stage.types(session)).toEqual(['message.created']);
  });

  test('is another message in another session', async () => {
    const [one, other] = [await stage.session(), await stage.session()];
    expect(await stage.say(one, 'a', { key: 'k' })).toMatchObject({ isRepeat: false });
    expect(await stage.say(other, 'b', { key: 'k' })).toMatchObject({ isRepeat: false });
  });

  test('is answered though its session was closed meanwhile', async () => {
    const session = await stage.session();
    await stage.say(session, 'a', { key: 'k' });
    await stage.sessions.close(session);
    expect(await stage.say(session, 'a', { key: 'k' })).toMatchObject({ sequence: 1, isRepeat: true });
    expect(await refusalOf(stage.say(session, 'b'))).toMatchObject({ code: 'session_closed' });
  });

  test('is refused when its session was deleted meanwhile, also while the key is not erased yet', async () => {
    const session = await stage.session();
    await stage.say(session, 'a', { key: 'k' });
    await stage.sql((sql) => entombSession(sql, session, { endWork: sessionWork.end, lockWaitMs: 1_000 }));
    expect(await refusalOf(stage.say(session, 'a', { key: 'k' }))).toMatchObject({ code: 'session_deleted' });
  });

  test('after a refusal is a first one: what was refused left no key behind', async () => {
    expect(await refusalOf(stage.say('nowhere', 'a', { key: 'k' }))).toMatchObject({ code: 'session_unknown' });
    await stage.ledger.create('nowhere', {});
    expect(await stage.say('nowhere', 'b', { key: 'k' })).toMatchObject({ sequence: 1, isRepeat: false });
  });
});

test.each(['\u0000', '\ud800', '\u2028\u0085', 'a"b\\n', '🧾'.repeat(1_000)])(
  'a message of any text is stored as it is: %j',
  async (text) => {
    const session = await stage.session();
    await stage.say(session, text, { by: 'ma\u0000ya' });
    const turn = await stage.claimOne();
    expect(JSON.parse(turn.inputs[0]?.data ?? '')).toMatchObject({ content: text, by: 'ma\u0000ya' });
  },
);

describe('messages close behind one another', () => {
  test('are the inputs of one turn, and the wait for more has an end', async () => {
    stage = await turnStage({ debounceMs: 3_600_000, debounceCapMs: 3_600_000 });
    const session = await stage.session();
    expect(await stage.say(session, 'one')).toMatchObject({ state: 'ready' });
    expect(await stage.claim()).toEqual([]);
    const dueMs = () =>
      stage.sql(async (sql) => {
        const [row] = await sql<{ ms: number }[]>`
          select extract(epoch from due_at - ready_at)::float8 * 1000 as ms from ledgerline.session_head where session = ${session}::text`;
        return row?.ms ?? 0;
      });
    const first = await dueMs();
    await stage.say(session, 'two');
    expect(await dueMs()).toBe(first); // the cap is the first wait already
    await stage.hurry(session);
    expect((await stage.claimOne()).inputs.map(({ sequence }) => sequence)).toEqual([1, 2]);
  });

  test('begin the wait anew, up to its cap', async () => {
    stage = await turnStage({ debounceMs: 3_600_000, debounceCapMs: 7_200_000 });
    const session = await stage.session();
    await stage.say(session, 'one');
    await stage.sql(
      (sql) =>
        sql`update ledgerline.session_head set due_at = due_at - interval '1 hour' where session = ${session}::text`,
    );
    await stage.say(session, 'two');
    expect(await stage.claim()).toEqual([]);
  });
});

describe('to an agent that is', () => {
  /** What each way of `onBusy` makes of a second message. */
  type Case = { readonly at: string; readonly onBusy: OnBusy; readonly state: TurnState; readonly types: string[] };

  async function busy(at: string): Promise<{ session: string; turn: string | undefined }> {
    const session = await stage.session();
    await stage.say(session, 'first');
    if (at === 'queued') return { session, turn: undefined };
    const claimed = await stage.claimOne();
    if (at === 'waiting') await stage.turns.wait(claimed, [{ approval: 'a', data: {} }]);
    if (at === 'retrying') await stage.turns.fail(claimed, { code: 'x', message: 'x' }, true);
    return { session, turn: claimed.turn };
  }

  const cases: readonly Case[] = [
    { at: 'queued', onBusy: 'enqueue', state: 'ready', types: ['message.created'] },
    { at: 'queued', onBusy: 'reject', state: 'ready', types: ['message.created'] },
    { at: 'queued', onBusy: 'interrupt', state: 'ready', types: ['message.created'] },
    { at: 'queued', onBusy: 'steer', state: 'ready', types: ['message.created'] },
    { at: 'running', onBusy: 'enqueue', state: 'running', types: ['message.created'] },
    { at: 'running', onBusy: 'interrupt', state: 'running', types: ['turn.stopping', 'message.created'] },
    { at: 'running', onBusy: 'steer', state: 'running', types: ['message.created'] },
    { at: 'waiting', onBusy: 'enqueue', state: 'waiting', types: ['message.created'] },
    { at: 'waiting', onBusy: 'interrupt', state: 'ready', types: ['turn.cancelled', 'message.created'] },
    { at: 'waiting', onBusy: 'steer', state: 'waiting', types: ['message.created'] },
    { at: 'retrying', onBusy: 'enqueue', state: 'ready', types: ['message.created'] },
    { at: 'retrying', onBusy: 'interrupt', state: 'ready', types: ['turn.cancelled', 'message.created'] },
  ];

  test.each(cases)('$at, "$onBusy" leaves it $state', async ({ at, onBusy, state, types }) => {
    const { session, turn } = await busy(at);
    const before = (await stage.types(session)).length;
    expect(await stage.say(session, 'second', { onBusy })).toMatchObject({ isRepeat: false, state });
    expect((await stage.types(session)).slice(before)).toEqual(types);
    expect(await stage.now(session)).toMatchObject({ state });
    if (types[0] === 'turn.cancelled') {
      // what was cancelled is no input any more, and the new message begins a turn
      await stage.hurry(session);
      const next = await stage.claimOne();
      expect(next.turn).not.toBe(turn);
      expect(next.inputs.map(({ data }) => (JSON.parse(data) as { content: string }).content)).toEqual(['second']);
    }
  });

  test.each(['running', 'waiting', 'retrying'])('%s, "reject" stores nothing', async (at) => {
    const { session, turn } = await busy(at);
    const before = await stage.types(session);
    const refused = await refusalOf(stage.say(session, 'second', { onBusy: 'reject', key: 'k' }));
    expect(refused).toMatchObject({ code: 'turn_busy', fields: { turn } });
    expect(await stage.types(session)).toEqual(before);
    expect(await stage.say(session, 'another', { key: 'k' })).toMatchObject({ isRepeat: false });
  });

  test('running, a message that may join the turn does so when the agent asks', async () => {
    const session = await stage.session();
    await stage.say(session, 'first');
    const turn = await stage.claimOne();
    expect(await stage.turns.steer(turn)).toEqual([]);
    await stage.say(session, 'for later');
    await stage.say(session, 'to the left', { onBusy: 'steer' });
    expect(await stage.turns.renew([turn])).toMatchObject([{ session, hasSteering: true }]);
    expect(
      (await stage.turns.steer(turn)).map(({ data }) => (JSON.parse(data) as { content: string }).content),
    ).toEqual(['to the left']);
    expect(await stage.turns.renew([turn])).toMatchObject([{ hasSteering: false }]);
    expect(await stage.turns.steer(turn)).toEqual([]);
    expect(await stage.turns.finish(turn, 'completed', [])).toMatchObject({ state: 'ready' });
    const inputs = (await stage.events(session)).filter(({ type }) => /steered|completed/.test(type));
    expect(inputs.map(({ data }) => (data as { inputs: number[] }).inputs)).toEqual([[4], [1, 4]]);
    expect((await stage.claimOne()).inputs.map(({ sequence }) => sequence)).toEqual([3]);
  });

  test('running, a message that joined by a request whose answer was lost is brought by the next one [I10]', async () => {
    const session = await stage.session();
    await stage.say(session, 'first');
    const turn = await stage.claimOne();
    await stage.say(session, 'to the left', { onBusy: 'steer' });
    await stage.turns.steer(turn); // and nobody hears the answer
    await stage.say(session, 'no, to the right', { onBusy: 'steer' });
    const [last] = turn.inputs.map(({ sequence }) => sequence);
    expect((await stage.turns.steer(turn, last)).map(({ sequence }) => sequence)).toEqual([3, 5]);
    expect(await stage.turns.steer(turn, toSequence(5))).toEqual([]);
    expect((await stage.types(session)).filter((type) => type === 'turn.steered')).toHaveLength(2);
  });

  test('at its end, a message that wanted to join is for the next turn', async () => {
    const session = await stage.session();
    await stage.say(session, 'first');
    const turn = await stage.claimOne();
    await stage.say(session, 'too late', { onBusy: 'steer' });
    expect(await stage.turns.finish(turn, 'completed', [])).toMatchObject({ state: 'ready' });
    expect((await stage.claimOne()).inputs.map(({ sequence }) => sequence)).toEqual([3]);
  });
});

test('a message that comes while the turn is being finished is never forgotten [I10]', async () => {
  const session = await stage.session();
  for (const round of countTo(20)) {
    await stage.say(session, `before ${round}`);
    const turn = await stage.claimOne();
    const [, settled] = await Promise.all([
      stage.say(session, `meanwhile ${round}`),
      stage.turns.finish(turn, 'completed', []),
    ]);
    expect(settled.status).toBe('done');
    const next = await stage.claimOne(); // whichever was first, there is something to claim
    expect(next.inputs).toHaveLength(1);
    await stage.turns.finish(next, 'completed', []);
    expect(await stage.now(session)).toMatchObject({ state: 'idle' });
  }
});

test('a turn takes no more than a worker can be handed, and what is beyond is the next one’s [I6]', async () => {
  const session = await stage.session();
  const long = 'x'.repeat(limits.contentBytes - 2);
  const many = Math.ceil(limits.turnInputBytes / limits.contentBytes) + 3;
  for (const _ of countTo(many)) await stage.say(session, long);
  const taken: number[] = [];
  for (let state: TurnState = 'ready'; state === 'ready';) {
    const turn = await stage.claimOne();
    const bytes = turn.inputs.reduce((sum, { data }) => sum + Buffer.byteLength(data), 0);
    expect(bytes).toBeLessThanOrEqual(limits.turnInputBytes);
    taken.push(...turn.inputs.map(({ sequence }) => sequence));
    ({ state } = await stage.turns.finish(turn, 'completed', []));
  }
  expect(taken).toEqual(countTo(many).map((_, index) => index + 1));
});

test('ten thousand small messages that wait are answered, turn by turn [I6]', async () => {
  const session = await stage.session();
  await stage.say(session, 'the first');
  await stage.sql(async (sql) => {
    await sql`
      with head as (
        update ledgerline.session_head set last_sequence = 10000 where session = ${session}::text
      ), stored as (
        insert into ledgerline.event (session, sequence, created_at, bytes, type, payload)
        select ${session}::text, i, clock_timestamp(), 2, 'message.created', '{}' from generate_series(2, 10000) i
      )
      insert into ledgerline.turn_request (session, sequence) select ${session}::text, i from generate_series(2, 10000) i`;
  });
  const turn = await stage.claimOne();
  expect(turn.inputs.map(({ sequence }) => sequence)).toEqual(countTo(limits.turnInputs).map((_, index) => index + 1));
  expect(await stage.turns.finish(turn, 'completed', [])).toMatchObject({ state: 'ready' });
  expect((await stage.claimOne()).inputs[0]?.sequence).toBe(limits.turnInputs + 1);
});

test('a message that waits for the head of one session keeps no other waiting [I9]', async () => {
  const [held, free] = [await stage.session(), await stage.session()];
  const stranger = await holdHeads(stage.url, held);
  const waiting = stage.say(held, 'waits');
  expect(await stage.say(free, 'goes')).toMatchObject({ sequence: 1 });
  await stranger.release();
  expect(await waiting).toMatchObject({ sequence: 1 });
});

test('the rows of turns need no lock that a busy head could hold [the foreign key blocked by a lock]', async () => {
  const session = await stage.session();
  const stranger = await holdHeads(stage.url, session);
  // A worker holds the head; what refers to the session is inserted beside it.
  const inserted = await stage.sql(
    (sql) => sql`insert into ledgerline.turn_request (session, sequence) values (${session}::text, 1) returning 1`,
  );
  expect(inserted).toHaveLength(1);
  await stranger.release();
});

test('behind a pooler, where connections have no settings, a head that is held makes a message busy all the same', async () => {
  const { url, bus, metrics } = stage;
  const pool = createPool({ url, log: silentLog, name: 'pooled', connections: 1, prepare: false, deadlineMs: 10_000 });
  const transact = createTransact(pool, { bus, metrics, log: silentLog, prepare: false });
  const [shown] = await transact('looking', ({ tx }) => tx<{ lock_timeout: string }[]>`show lock_timeout`);
  expect(shown).toEqual({ lock_timeout: `${limits.headLockWaitMs / 1_000}s` });
  await pool.close(1_000);
});
