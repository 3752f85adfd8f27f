/** Workers take what is due: each session once, with inputs that never change, and without looking at idle sessions. */
import { beforeEach, describe, expect, test } from 'vitest';
import { connect, disconnect } from '../../src/db/postgres.ts';
import type { Sql, Statements } from '../../src/db/postgres.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { Clock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { claimTurns } from '../../src/ledger/turn-stamp.ts';
import { createTurns } from '../../src/turn/postgres-turns.ts';
import { countTo, holdHeads } from '../support/ledger.ts';
import { turnStage } from '../support/turn-stage.ts';
import type { TurnStage } from '../support/turn-stage.ts';
import { eventually } from '../support/waits.ts';

let stage: TurnStage;
beforeEach(async () => {
  stage = await turnStage();
});

async function ready(count: number): Promise<string[]> {
  const sessions = await Promise.all(countTo(count).map(() => stage.session()));
  await Promise.all(sessions.map((session) => stage.say(session, 'hello')));
  return sessions;
}

const how = { leaseMs: 60_000, isApart: false };
const asking = (limit: number) => ({ worker: 'w', limit, policy: 'retry', maxAttempts: 3, turnMs: 60_000 });

describe('a claim', () => {
  test('takes never more than it asked for [odd-jobs#115]', async () => {
    await ready(12);
    const sizes: number[] = [];
    for (let size = 1; size > 0;) {
      size = (await stage.claim({ limit: 5 })).length;
      sizes.push(size);
    }
    expect(sizes).toEqual([5, 5, 2, 0]);
  });

  test('takes each session once, however many claim at the same time', async () => {
    const sessions = await ready(40);
    const workers = [stage.turns, stage.another(), stage.another()];
    const claims = await Promise.all(
      countTo(30).map((number) =>
        (workers[number % workers.length] ?? stage.turns).claim({
          worker: `w${number}`,
          limit: 3,
          waitMs: 0,
          policy: 'retry',
          maxAttempts: 3,
          turnMs: 60_000,
        }),
      ),
    );
    const claimed = claims.flat().map(({ session }) => session);
    expect(claimed.toSorted()).toEqual(sessions.toSorted());
    expect(claims.every((turns) => turns.length <= 3)).toBe(true);
  });

  test('passes by a session that somebody holds, and takes it later', async () => {
    const [held = '', free] = await ready(2);
    const stranger = await holdHeads(stage.url, held);
    expect((await stage.claim()).map(({ session }) => session)).toEqual([free]);
    await stranger.release();
    expect((await stage.claim()).map(({ session }) => session)).toEqual([held]);
  });

  test('takes the longest due first', async () => {
    const [late = '', early = ''] = await ready(2);
    await stage.sql(
      (sql) => sql`
        update ledgerline.session_head set due_at = statement_timestamp() - case session when ${early} then interval '1 hour' else interval '1 minute' end
         where session in (${early}, ${late})`,
    );
    expect((await stage.claim({ limit: 1 })).map(({ session }) => session)).toEqual([early]);
  });

  test('with others shares what is due: no more than it asked for, and the longest due for who came first', async () => {
    const sessions = (await ready(5)).toSorted();
    await stage.sql(async (sql) => {
      for (const [hours, session] of sessions.toReversed().entries()) {
        await sql`
          update ledgerline.session_head set due_at = statement_timestamp() - ${hours + 1}::int * interval '1 hour'
           where session = ${session}`;
      }
      const claimed = await claimTurns(sql, [asking(1), asking(3), { ...asking(2), worker: 'a,b;\n"c' }], how);
      expect(claimed.map(({ claim, session }) => [claim, session])).toEqual(
        [0, 1, 1, 1, 2].map((claim, index) => [claim, sessions[index]]),
      );
      const [last] = await sql`select worker_id from ledgerline.session_head where session = ${sessions[4] ?? ''}`;
      expect(last).toEqual({ worker_id: 'a,b;\n"c' });
    });
  });

  test('is committed whole: one that is rolled back leaves everything to the next', async () => {
    const [session] = await ready(1);
    const sql = connect({ url: stage.url, connections: 1, name: 'test', log: silentLog });
    await sql`begin`;
    expect(await claimTurns(sql, [asking(1)], how)).toHaveLength(1);
    expect(await stage.claim()).toEqual([]); // nobody else has it meanwhile
    await sql`rollback`;
    await disconnect(sql, 1_000);
    const turn = await stage.claimOne();
    expect(turn).toMatchObject({ session, attempt: 1, tryNumber: 1 });
  });
});

test('the inputs of a turn are the same at every attempt, whatever is said in between [I12]', async () => {
  const session = await stage.session();
  await stage.say(session, 'one');
  await stage.say(session, 'two');
  const first = await stage.claimOne();
  await stage.say(session, 'not for this turn');
  await stage.turns.fail(first, { code: 'x', message: 'x' }, true);
  await stage.say(session, 'nor this');
  await stage.hurry(session);
  const second = await stage.claimOne();
  expect(second).toMatchObject({ turn: first.turn, attempt: 2, tryNumber: 2 });
  expect(second.inputs).toEqual(first.inputs);
  await stage.turns.finish(second, 'completed', []);
  expect((await stage.claimOne()).inputs.map(({ data }) => (JSON.parse(data) as { content: string }).content)).toEqual([
    'not for this turn',
    'nor this',
  ]);
});

describe('a claim that waits', () => {
  const long = { waitMs: 600_000 };

  test('is woken by a message', async () => {
    const session = await stage.session();
    const claimed = stage.claimOne(long);
    await stage.say(session, 'hello');
    expect(await claimed).toMatchObject({ session });
  });

  test('is woken by a finish that leaves more to do', async () => {
    const session = await stage.session();
    await stage.say(session, 'one');
    const turn = await stage.claimOne();
    await stage.say(session, 'two');
    const next = stage.claimOne(long);
    await stage.turns.finish(turn, 'completed', []);
    expect(await next).toMatchObject({ session, attempt: 2 });
  });

  test('finds by itself what nobody told it of', async () => {
    const session = await stage.session();
    const claimed = stage.claimOne(long);
    await stage.sql(
      (sql) => sql`
        with request as (insert into ledgerline.turn_request (session, sequence) values (${session}::text, 1))
        update ledgerline.session_head set turn_state = 'ready', ready_at = clock_timestamp(), due_at = clock_timestamp()
         where session = ${session}::text`,
    );
    expect(await claimed).toMatchObject({ session });
  });

  test('wakes when something becomes due, and not before', async () => {
    stage = await turnStage({ debounceMs: 300, debounceCapMs: 300 });
    const session = await stage.session();
    const claimed = stage.claimOne(long);
    await stage.say(session, 'hello');
    expect(await claimed).toMatchObject({ session });
    expect(await stage.types(session)).toEqual(['message.created', 'turn.started']);
  });

  test('pauses while somebody holds what is due, however many wait', async () => {
    const [held = ''] = await ready(1);
    const stranger = await holdHeads(stage.url, held);
    let waits = 0;
    const clock: Clock = {
      ...systemClock,
      after(delayMs, run) {
        waits += 1;
        return systemClock.after(delayMs, run);
      },
    };
    const { url, bus, metrics } = stage;
    const turns = createTurns({ url, bus, metrics, clock, log: silentLog });
    const asked = { worker: 'w', limit: 1, waitMs: 500, policy: 'retry', maxAttempts: 3, turnMs: 60_000 } as const;
    expect((await Promise.all(countTo(5).map(() => turns.claim(asked)))).flat()).toEqual([]);
    expect(waits).toBeLessThan(50); // each looks about ten times a second, and not without a pause
    await turns.service.stop();
    await stranger.release();
  });

  test('is one of many that one process may hold, without a warning of leaks', async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning);
    process.on('warning', onWarning);
    const claims = countTo(12).map(() => stage.claim({ waitMs: 200 }));
    expect((await Promise.all(claims)).flat()).toEqual([]);
    process.off('warning', onWarning);
    expect(warnings).toEqual([]);
  });

  test('ends with its caller, and takes nothing for nobody', async () => {
    const leaving = new AbortController();
    const claimed = stage.turns.claim(
      { worker: 'w', limit: 1, waitMs: 600_000, policy: 'retry', maxAttempts: 3, turnMs: 60_000 },
      leaving.signal,
    );
    leaving.abort();
    expect(await claimed).toEqual([]);
    const session = await stage.session();
    await stage.say(session, 'hello');
    expect(await stage.claimOne()).toMatchObject({ session });
  });

  test('ends with the process', async () => {
    const other = stage.another();
    const claimed = other.claim({
      worker: 'w',
      limit: 1,
      waitMs: 600_000,
      policy: 'retry',
      maxAttempts: 3,
      turnMs: 60_000,
    });
    await other.service.stop();
    expect(await claimed).toEqual([]);
  });
});

test('a session that is ready with nothing to do is set right, and keeps no other from being claimed', async () => {
  const broken = await stage.session();
  await stage.sql(
    (sql) => sql`
      update ledgerline.session_head set turn_state = 'ready', ready_at = clock_timestamp(), due_at = clock_timestamp() - interval '1 hour'
       where session = ${broken}::text`,
  );
  const [session] = await ready(1);
  expect((await stage.claim()).map((turn) => turn.session)).toEqual([session]);
  expect(await stage.now(broken)).toMatchObject({ state: 'idle' });
});

/** How many pages Postgres touches for a claim. */
async function claimPages(sql: Sql): Promise<number> {
  let plan = '';
  const explaining = Object.assign(async (strings: TemplateStringsArray, ...values: never[]) => {
    if (strings[0]?.trimStart().startsWith('select c.claim') !== true) return sql(strings, ...values);
    const [first = '', ...rest] = strings;
    const text = [`explain (analyze, buffers, timing off, summary off) ${first}`, ...rest];
    const lines = await sql<{ 'QUERY PLAN': string }[]>(
      Object.assign(text, { raw: text }) as unknown as TemplateStringsArray,
      ...values,
    );
    plan = lines.map((row) => row['QUERY PLAN']).join('\n');
    return [];
  }) as unknown as Statements;
  await claimTurns(explaining, [asking(50)], how);
  const pages = /Function Scan on claim_turns[^\n]*\n(?:[^\n]*\n)*?\s*Buffers: shared hit=(\d+)(?: read=(\d+))?/.exec(
    plan,
  );
  return Number(pages?.[1]) + Number(pages?.[2] ?? 0);
}

describe('a session whose turn cannot begin, for what is wrong with its rows,', () => {
  /** The number that the next event would get is taken. */
  const turnBack = (session: string, by: number) =>
    stage.sql(
      (sql) =>
        sql`update ledgerline.session_head set last_sequence = last_sequence - ${by}::int where session = ${session}`,
    );

  test('is put off, and keeps no other from being claimed [I9]', async () => {
    const [bad = ''] = await ready(1);
    await turnBack(bad, 1);
    const others = await ready(3);
    const claims = await Promise.all([1, 2, 3].map((limit) => stage.claim({ limit })));
    const claimed = claims.flat().map(({ session }) => session);
    expect(claimed.toSorted()).toEqual(others.toSorted());
    expect(claims.every((turns, index) => turns.length <= index + 1)).toBe(true);
    expect(await stage.now(bad)).toMatchObject({ state: 'ready' });
    expect(await stage.claim()).toEqual([]);
    await turnBack(bad, -1);
    await stage.hurry(bad);
    expect(await stage.claimOne()).toMatchObject({ session: bad, tryNumber: 1, inputs: [{ sequence: 1 }] });
    expect(await stage.types(bad)).toEqual(['message.created', 'turn.started']);
  });

  test('goes on with the same turn, if it had begun before', async () => {
    const [bad = ''] = await ready(1);
    const before = await stage.claimOne();
    await stage.turns.release(before);
    await turnBack(bad, 1);
    const [other] = await ready(1);
    expect((await stage.claim()).map(({ session }) => session)).toEqual([other]);
    await turnBack(bad, -1);
    await stage.hurry(bad);
    expect(await stage.claimOne()).toMatchObject({ turn: before.turn, tryNumber: 1, inputs: before.inputs });
    const types = ['message.created', 'turn.started', 'turn.retrying', 'turn.started'];
    expect(await stage.types(bad)).toEqual(types);
  });
});

test('a session whose turn has no row begins it anew, and keeps no other from being claimed', async () => {
  const [bad = ''] = await ready(1);
  const before = await stage.claimOne();
  await stage.turns.release(before);
  await stage.sql((sql) => sql`delete from ledgerline.turn where session = ${bad}`);
  const [good = ''] = await ready(1);
  const claimed = (await Promise.all(countTo(4).map(() => stage.claim()))).flat();
  expect(claimed.map(({ session }) => session).toSorted()).toEqual([bad, good].toSorted());
  const again = claimed.find(({ session }) => session === bad);
  expect(again).toMatchObject({ turn: before.turn, inputs: [{ sequence: 1 }], tryNumber: 1 });
  expect(again?.attempt).toBeGreaterThan(before.attempt);
  if (again !== undefined) await stage.turns.finish(again, 'completed', []);
});

test('with a million idle sessions and ten ready, a claim touches the ten [graphile#558]', async () => {
  await stage.sql(async (sql) => {
    await sql`set session_replication_role = replica`; // the keys are right by construction
    await sql`insert into ledgerline.session (session) select 'idle-' || i from generate_series(1, 1000000) i`;
    await sql`
      insert into ledgerline.session_head (session, turn_state, ready_at, due_at)
      select 'idle-' || i, case when i % 100000 = 0 then 'ready' else 'idle' end,
             case when i % 100000 = 0 then now() end, case when i % 100000 = 0 then now() end
        from generate_series(1, 1000000) i`;
    expect(await claimPages(sql)).toBeLessThan(5_000); // with those of the catalog; the heads are ten times as many
    const left = await sql`select from ledgerline.session_head where turn_state = 'ready'`;
    expect(left).toHaveLength(0); // none had anything to do
  });
}, 120_000);

test('a transaction that is held open for long does not make claims look at what is dead [river#59]', async () => {
  const reader = connect({ url: stage.url, connections: 1, name: 'reader', log: silentLog });
  const session = await stage.session();
  await reader`begin isolation level repeatable read`;
  await reader`select count(*) from ledgerline.session_head`;
  for (const round of countTo(300)) {
    await stage.say(session, `message ${round}`);
    await stage.turns.finish(await stage.claimOne(), 'completed', []);
  }
  // Every turn leaves dead entries in the index that cannot be removed while the reader stays: they are pages, not minutes.
  expect(await stage.sql(claimPages)).toBeLessThan(1_000);
  await reader`commit`;
  await disconnect(reader, 1_000);
  await eventually('the session is idle', async () => (await stage.now(session))?.state === 'idle');
}, 60_000);
