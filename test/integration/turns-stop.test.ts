/** Stopping, losing and taking over turns: decided from the locked row alone, and seen by everybody. */
import { beforeEach, describe, expect, test } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import type { Wake } from '../../src/bus/bus.ts';
import type { ClaimedTurn } from '../../src/turn/turns.ts';
import { anEvent, countTo, holdHeads } from '../support/ledger.ts';
import { refusalOf } from '../support/refusal.ts';
import { turnStage } from '../support/turn-stage.ts';
import type { TurnStage } from '../support/turn-stage.ts';
import { eventually } from '../support/waits.ts';

let stage: TurnStage;
beforeEach(async () => {
  stage = await turnStage();
});

async function running(more: Parameters<TurnStage['claimOne']>[0] = {}): Promise<ClaimedTurn> {
  await stage.say(await stage.session(), 'hello');
  return stage.claimOne(more);
}
const shift = (session: string, column: 'stop_at' | 'deadline') =>
  stage.sql(async (sql) => {
    if (column === 'stop_at') {
      await sql`update ledgerline.session_head set stop_at = stop_at - interval '1 hour' where session = ${session}::text`;
    } else
      await sql`update ledgerline.turn set deadline = deadline - interval '1 day' where session = ${session}::text`;
  });
const last = async (session: string) => (await stage.events(session)).at(-1);

describe('a stop', () => {
  test('of a running turn is told to its worker, and seen by everybody [vercel/ai#6502]', async () => {
    const turn = await running();
    const { session } = turn;
    const heard: Wake[] = [];
    stage.bus.onWake((wake) => heard.push(wake));
    expect(await stage.turns.stop(session, 'maya')).toEqual({ isStopping: true, isStopped: false, state: 'running' });
    await eventually('the worker is told', () => heard.some((wake) => wake.kind === 'stop' && wake.turn === turn.turn));
    expect(await stage.turns.renew([turn])).toMatchObject([{ stop: 'stop' }]);
    expect(await stage.turns.stop(session, 'noor')).toMatchObject({ isStopping: true });
    await stage.sessions.append({ session, events: [anEvent('{"text":"the last words"}')], fence: turn });
    const settled = await stage.turns.finish(turn, 'cancelled', []);
    expect(settled).toMatchObject({ state: 'idle', status: 'cancelled' });
    expect(await stage.turns.finish(turn, 'cancelled', [])).toEqual(settled);
    expect(await stage.types(session)).toEqual([
      'message.created',
      'turn.started',
      'turn.stopping',
      'text.delta',
      'turn.cancelled',
    ]);
    expect((await last(session))?.data).toMatchObject({ turn: turn.turn, attempt: 1, inputs: [1], reason: 'stopped' });
  });

  test('that comes after the last word changes nothing', async () => {
    const turn = await running();
    await stage.turns.stop(turn.session, 'maya');
    expect(await stage.turns.finish(turn, 'completed', [])).toMatchObject({ status: 'done' });
    expect(await stage.turns.stop(turn.session, 'maya')).toEqual({
      isStopping: false,
      isStopped: false,
      state: 'idle',
    });
  });

  test('for an older turn does not touch a newer one', async () => {
    const first = await running();
    const { session } = first;
    await stage.turns.finish(first, 'completed', []);
    await stage.say(session, 'next');
    const second = await stage.claimOne();
    expect(await stage.turns.stop(session, 'maya', first.turn)).toMatchObject({ isStopping: false, isStopped: false });
    expect(await stage.turns.renew([second])).toMatchObject([{ stop: undefined }]);
    expect(await stage.turns.stop(session, 'maya', second.turn)).toMatchObject({ isStopping: true });
  });

  test('before any worker has begun takes the messages back', async () => {
    const session = await stage.session();
    await stage.say(session, 'one');
    await stage.say(session, 'two');
    expect(await stage.turns.stop(session, 'maya')).toEqual({ isStopping: false, isStopped: true, state: 'idle' });
    expect(await stage.claim()).toEqual([]);
    expect((await last(session))?.data).toEqual({ inputs: [1, 2], reason: 'stopped', by: 'maya' });
  });

  test.each(['waiting', 'retrying'])(
    'of a turn that is %s ends it at once, and what waits behind it begins',
    async (at) => {
      const turn = await running();
      const { session } = turn;
      if (at === 'waiting') await stage.turns.wait(turn, [{ approval: 'a', data: {} }]);
      else await stage.turns.fail(turn, { code: 'x', message: 'x' }, true);
      await stage.say(session, 'behind it');
      expect(await stage.turns.stop(session, 'maya')).toEqual({ isStopping: false, isStopped: true, state: 'ready' });
      const next = await stage.claimOne();
      expect(next.turn).not.toBe(turn.turn);
      expect(next.inputs).toHaveLength(1);
    },
  );

  test.each(['fail', 'release', 'wait'] as const)('wins over a worker that would rather %s', async (how) => {
    const turn = await running();
    await stage.turns.stop(turn.session, 'maya');
    const settled =
      how === 'fail'
        ? await stage.turns.fail(turn, { code: 'x', message: 'x' }, true)
        : how === 'release'
          ? await stage.turns.release(turn)
          : await stage.turns.wait(turn, [{ approval: 'a', data: {} }]);
    expect(settled).toMatchObject({ state: 'idle', status: 'cancelled' });
  });

  test('that the worker does not carry out is done without it', async () => {
    const turn = await running();
    const { session } = turn;
    await stage.turns.stop(session, 'maya');
    expect(await stage.turns.recover()).toBe(0); // it has its time
    await shift(session, 'stop_at');
    expect(await stage.turns.recover()).toBe(1);
    expect((await last(session))?.data).toMatchObject({ turn: turn.turn, attempt: 1, reason: 'forced' });
    expect(await refusalOf(stage.turns.finish(turn, 'completed', []))).toMatchObject({ code: 'fenced' });
    await stage.say(session, 'next');
    expect(await stage.claimOne()).toMatchObject({ session, attempt: 3 });
  });
});

describe('a worker that is gone', () => {
  test('leaves its turn to another, with a pause', async () => {
    const turn = await running();
    await stage.expire(turn.session);
    expect(await stage.turns.recover()).toBe(1);
    expect((await last(turn.session))?.data).toMatchObject({ turn: turn.turn, attempt: 1, reason: 'lost' });
    expect(await stage.claim()).toEqual([]);
    await stage.hurry(turn.session);
    expect(await stage.claimOne()).toMatchObject({ turn: turn.turn, attempt: 3, tryNumber: 2, inputs: turn.inputs });
  });

  test('at every try ends it where everybody sees it, and the next message works [river#1258, graphile#254]', async () => {
    const { session, turn } = await running();
    for (const tryNumber of countTo(3)) {
      if (tryNumber > 1) await stage.claimOne();
      await stage.expire(session);
      expect(await stage.turns.recover()).toBe(1);
      await stage.hurry(session);
    }
    expect((await last(session))?.data).toMatchObject({ turn, error: { code: 'worker_lost' } });
    expect(await stage.now(session)).toMatchObject({ state: 'idle' });
    await stage.say(session, 'next');
    expect(await stage.turns.finish(await stage.claimOne(), 'completed', [])).toMatchObject({ status: 'done' });
  });

  test('of a turn that may be tried but once is its end', async () => {
    const turn = await running({ policy: 'once' });
    await stage.expire(turn.session);
    await stage.turns.recover();
    expect((await last(turn.session))?.type).toBe('turn.failed');
  });

  test('after a stop was asked leaves a cancelled turn', async () => {
    const turn = await running();
    await stage.turns.stop(turn.session, 'maya');
    await stage.expire(turn.session);
    await stage.turns.recover();
    expect((await last(turn.session))?.data).toMatchObject({ reason: 'stopped' });
  });

  test('and comes back before anybody took over, goes on', async () => {
    const turn = await running();
    await stage.expire(turn.session);
    await stage.sessions.append({ session: turn.session, events: [anEvent('{}')], fence: turn });
    expect(await stage.turns.recover()).toBe(0);
    expect(await stage.turns.finish(turn, 'completed', [])).toMatchObject({ status: 'done' });
  });

  test('and finishes in the moment that it is looked for, has finished [river#1302]', async () => {
    for (const _ of countTo(30)) {
      const turn = await running();
      await stage.expire(turn.session);
      const [finished] = await Promise.allSettled([
        stage.turns.finish(turn, 'completed', []),
        stage.turns.recover(),
        stage.turns.recover(),
      ]);
      const types = await stage.types(turn.session);
      const ends = types.filter((type) => /turn\.(completed|retrying|failed)/.test(type));
      expect(ends).toEqual([finished.status === 'fulfilled' ? 'turn.completed' : 'turn.retrying']);
      await stage.turns.stop(turn.session, 'nobody');
    }
  });

  test('is decided from the row as it is when it is locked, not as it was seen', async () => {
    const turn = await running();
    await stage.expire(turn.session);
    const stranger = await holdHeads(stage.url, turn.session); // somebody is at it: it is passed by
    expect(await stage.turns.recover()).toBe(0);
    await stranger.release();
    expect(await stage.turns.recover()).toBe(1);
  });

  test('in one session strands no other, whatever goes wrong there [dbos-py#716]', async () => {
    const [broken, fine] = [await running(), await running()];
    for (const { session } of [broken, fine]) await stage.expire(session);
    // Its event cannot be stored, since its number is taken.
    await stage.sql(
      (sql) => sql`
        insert into ledgerline.event (session, sequence, type, payload, bytes, created_at)
        values (${broken.session}::text, ${broken.head + 1}::bigint, 'x', '1', 1, clock_timestamp())`,
    );
    expect(await stage.turns.recover()).toBe(1);
    expect(await stage.now(fine.session)).toMatchObject({ state: 'ready' });
    await stage.sql((sql) => sql`delete from ledgerline.event where session = ${broken.session}::text and type = 'x'`);
    expect(await stage.turns.recover()).toBe(1);
  });
});

test('all turns of a worker that was lost are taken over in one pass, however many they are', async () => {
  const many = limits.recoverTurns + 5;
  const sessions = await Promise.all(countTo(many).map(() => stage.session()));
  await Promise.all(sessions.map((session) => stage.say(session, 'hello')));
  for (let left = many; left > 0;) left -= (await stage.claim({ limit: 50 })).length;
  await stage.sql(
    (sql) => sql`update ledgerline.session_head set lease_until = clock_timestamp() - interval '1 second'`,
  );
  expect(await stage.turns.recover()).toBe(many);
});

test('a turn fails at its deadline, though its worker is alive', async () => {
  const turn = await running();
  await shift(turn.session, 'deadline');
  expect(await stage.turns.recover()).toBe(1);
  expect((await last(turn.session))?.data).toMatchObject({ error: { code: 'deadline' } });
  expect(await stage.turns.renew([turn])).toEqual([]);
});

test('a turn that is to be tried again fails at its deadline, too, though no worker comes', async () => {
  const turn = await running();
  await stage.turns.fail(turn, { code: 'x', message: 'x' }, true);
  expect(await stage.turns.recover()).toBe(0);
  await shift(turn.session, 'deadline');
  expect(await stage.turns.recover()).toBe(1);
  expect((await last(turn.session))?.type).toBe('turn.failed');
  expect((await last(turn.session))?.data).toMatchObject({ error: { code: 'deadline' } });
  expect(await stage.now(turn.session)).toMatchObject({ state: 'idle' });
});

test('the time that a person takes to decide is not the turn’s', async () => {
  const turn = await running();
  await stage.turns.wait(turn, [{ approval: 'a', data: {} }]);
  await shift(turn.session, 'deadline');
  await stage.turns.decide(turn.session, { approval: 'a', decision: 'approved', by: 'maya', comment: undefined });
  await stage.claimOne();
  expect(await stage.turns.recover()).toBe(0);
});

describe('a session that ends', () => {
  test.each(['queued', 'running', 'waiting', 'retrying'])(
    'while its agent is %s takes the work with it',
    async (at) => {
      const session = await stage.session();
      await stage.say(session, 'hello');
      const turn = at === 'queued' ? undefined : await stage.claimOne();
      if (turn !== undefined && at === 'waiting') await stage.turns.wait(turn, [{ approval: 'a', data: {} }]);
      if (turn !== undefined && at === 'retrying') await stage.turns.fail(turn, { code: 'x', message: 'x' }, true);
      await stage.say(session, 'never answered');
      await stage.sessions.close(session);
      expect((await last(session))?.type).toBe('turn.cancelled');
      expect((await last(session))?.data).toMatchObject({ reason: 'closed' });
      const end = (await last(session))?.sequence;
      const { sessions } = await stage.ledger.list({ kind: 'all' }, { limit: 1 }, 'maya');
      expect(sessions).toMatchObject([{ session, notable: end, read: 0 }]);
      const settled = await stage.sql((sql) => sql`select settled_sequence from ledgerline.turn`);
      expect([...settled]).toEqual(turn === undefined ? [] : [{ settled_sequence: end }]);
      expect(await stage.now(session)).toMatchObject({ state: 'idle' });
      await stage.hurry(session);
      expect(await stage.claim()).toEqual([]);
      if (turn !== undefined) {
        expect(await stage.turns.renew([turn])).toEqual([]);
        expect(await refusalOf(stage.turns.finish(turn, 'completed', []))).toMatchObject({ code: 'fenced' });
      }
      const open = await stage.sql(
        (sql) => sql`
        select 1 from ledgerline.turn_request where session = ${session}::text and status in ('pending', 'claimed')`,
      );
      expect([...open]).toEqual([]);
    },
  );

  test('by deletion leaves nothing of what people wrote', async () => {
    const turn = await running();
    const { session } = turn;
    await stage.turns.wait(turn, [{ approval: 'a', data: { reason: 'secret' } }]);
    await stage.sessions.delete(session);
    expect(await stage.claim()).toEqual([]);
    await eventually('it is erased', () =>
      stage.sql(async (sql) => {
        const rows = await sql<{ rows: number }[]>`
          select (select count(*) from ledgerline.event where session = ${session}::text)
               + (select count(*) from ledgerline.turn where session = ${session}::text)
               + (select count(*) from ledgerline.turn_request where session = ${session}::text)
               + (select count(*) from ledgerline.client_request where session = ${session}::text)
               + (select count(*) from ledgerline.approval where session = ${session}::text) as rows`;
        return rows[0]?.rows === 0;
      }),
    );
  });
});

describe('a person', () => {
  const failing = async () => {
    const turn = await running();
    await stage.turns.fail(turn, { code: 'x', message: 'no luck' }, false);
    return turn;
  };

  test('has a failed turn tried again, with the same inputs and its tries counted anew', async () => {
    const turn = await failing();
    const { session } = turn;
    expect(await stage.turns.list('attention', 10, { kind: 'all' })).toMatchObject([{ session, status: 'failed' }]);
    expect(await stage.turns.retry(session, turn.turn, 'ops')).toMatchObject({ state: 'ready', turn: turn.turn });
    expect(await stage.turns.list('attention', 10, { kind: 'all' })).toEqual([]);
    const again = await stage.claimOne();
    expect(again).toMatchObject({ turn: turn.turn, tryNumber: 1, inputs: turn.inputs });
    await stage.turns.finish(again, 'completed', []);
    expect(await refusalOf(stage.turns.retry(session, turn.turn, 'ops'))).toMatchObject({ code: 'turn_over' });
  });

  test('has a turn done anew, as another one with the same messages', async () => {
    const turn = await running();
    await stage.turns.finish(turn, 'completed', []);
    expect(await stage.turns.rerun(turn.session, turn.turn, 'ops')).toMatchObject({ state: 'ready' });
    const other = await stage.claimOne();
    expect(other.turn).not.toBe(turn.turn);
    expect(other.inputs).toEqual(turn.inputs);
    expect(await refusalOf(stage.turns.rerun(turn.session, turn.turn, 'ops'))).toMatchObject({ code: 'turn_busy' });
  });

  test('cannot have a turn tried again whose messages were given to another', async () => {
    const turn = await failing();
    await stage.turns.rerun(turn.session, turn.turn, 'ops');
    await stage.turns.finish(await stage.claimOne(), 'completed', []);
    for (const act of ['retry', 'rerun'] as const) {
      expect(await refusalOf(stage.turns[act](turn.session, turn.turn, 'ops'))).toMatchObject({ code: 'turn_over' });
    }
    expect(await stage.now(turn.session)).toMatchObject({ state: 'idle' });
  });

  test('takes note of a failure, which is then listed no more', async () => {
    const turn = await failing();
    await stage.sessions.close(turn.session);
    await stage.turns.acknowledge(turn.session, turn.turn);
    expect(await stage.turns.list('attention', 10, { kind: 'all' })).toEqual([]);
    expect(await refusalOf(stage.turns.acknowledge(turn.session, 'other'))).toMatchObject({ code: 'turn_unknown' });
  });

  test('cannot begin a turn while another is under way', async () => {
    const turn = await failing();
    await stage.say(turn.session, 'next');
    await stage.claimOne();
    for (const act of ['retry', 'rerun'] as const) {
      expect(await refusalOf(stage.turns[act](turn.session, turn.turn, 'ops'))).toMatchObject({ code: 'turn_busy' });
    }
  });

  test('sees what is under way within reach, and what it counts', async () => {
    const turn = await running();
    const queued = await stage.session();
    await stage.say(queued, 'hello');
    const seen = await stage.turns.list('active', 10, { kind: 'all' });
    const states = new Map(seen.map(({ session, status, state }) => [session, `${status} ${state}`]));
    expect(states).toEqual(
      new Map([
        [turn.session, 'open running'],
        [queued, 'queued ready'],
      ]),
    );
    const some = { kind: 'some', sessions: [queued], prefixes: [], owner: undefined } as const;
    expect((await stage.turns.list('active', 10, some)).map(({ session }) => session)).toEqual([queued]);
    const none = { kind: 'some', sessions: [], prefixes: [], owner: undefined } as const;
    expect(await stage.turns.list('active', 10, none)).toEqual([]);
    expect(await stage.turns.figures()).toMatchObject({ ready: 1, running: 1, waiting: 0, failed: 0, inDoubt: 0 });
  });
});
