/** A connection that is lost around a commit: what the caller is told is what is stored. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import type { AppendRequest } from '../../src/ledger/ledger.ts';
import type { LedgerBounds, PostgresLedger } from '../../src/ledger/postgres-ledger.ts';
import { createPool } from '../../src/db/pool.ts';
import { createInquiry } from '../../src/ledger/unknown-commit.ts';
import { startCutProxy } from '../support/cut-proxy.ts';
import type { CutProxy } from '../support/cut-proxy.ts';
import { anEvent, countTo, fateOf, openLedger, storedRows, withSql } from '../support/ledger.ts';
import { freshDatabase, startPostgres } from '../support/services.ts';
import type { FreshDatabase, TestServer } from '../support/services.ts';
import { eventually } from '../support/waits.ts';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
  // a commit that waits for the test: the trigger runs at the very end of the transaction, after the receipt
  await withSql(database.url, (sql) =>
    sql.unsafe(`
      create function public.wait_at_commit() returns trigger language plpgsql as $$
      begin perform pg_advisory_xact_lock(42); return null; end $$;
      create constraint trigger wait_at_commit after insert on ledgerline.event
        deferrable initially deferred for each row when (new.type = 'waits') execute function public.wait_at_commit();
      create function public.wait_at_insert() returns trigger language plpgsql as $$
      begin perform pg_advisory_xact_lock(42); return new; end $$;
      create trigger wait_at_insert before insert on ledgerline.event
        for each row when (new.type = 'waits-early') execute function public.wait_at_insert();`),
  );
});
afterAll(() => database.drop());

const isReceipt = (text: string): boolean => text.includes('{"transaction" : ');

interface Scene {
  readonly proxy: CutProxy;
  readonly ledger: PostgresLedger;
  readonly sessions: readonly [string, string];
}

let created = 0;
async function withScene(bounds: Partial<LedgerBounds>, work: (scene: Scene) => Promise<void>): Promise<void> {
  const proxy = await startCutProxy(database.url);
  const ledger = openLedger(proxy.url, { lanes: 1, ...bounds });
  const sessions = [`s-${(created += 1)}`, `s-${(created += 1)}`] as const;
  try {
    for (const session of sessions) await ledger.create(session, {});
    await ledger.append({ session: sessions[0], events: [anEvent('"before"')] });
    await work({ proxy, ledger, sessions });
  } finally {
    await ledger.stop();
    await proxy.close();
  }
}

/** The flush of one append goes by the plain statement, of two sessions by the stamp. */
const ways = [
  { way: 'the plain statement', count: 1 },
  { way: 'the stamp', count: 2 },
] as const;
const requests = (scene: Scene, count: number, more: Partial<AppendRequest> = {}): AppendRequest[] =>
  scene.sessions.slice(0, count).map((session) => ({ session, events: [anEvent('1'), anEvent('2')], ...more }));
const producer = { id: 'p', sequence: 1 };

describe.each(ways)('by $way', ({ count }) => {
  it('after the receipt and before the answer: stored, and told with its numbers', () =>
    withScene({}, async (scene) => {
      scene.proxy.fromServer = (type, text) =>
        scene.proxy.cuts === 0 && type === 'N' && isReceipt(text) ? 'last' : 'pass';
      const fates = await Promise.all(requests(scene, count).map((each) => fateOf(scene.ledger.append(each))));
      expect(scene.proxy.cuts).toBe(1);
      expect(fates).toMatchObject(
        [
          { kind: 'appended', first: 2, last: 3 },
          { kind: 'appended', first: 1, last: 2 },
        ].slice(0, count),
      );
      expect(await storedRows(database.url, scene.sessions[0])).toHaveLength(3);
    }));

  it('with the receipt lost, too: a producer’s counters tell that it is stored', () =>
    withScene({}, async (scene) => {
      // Cut when the server is through with it: whoever asks what became of it first ends its backend.
      let isLost = false;
      scene.proxy.fromServer = (type, text) => {
        if (scene.proxy.cuts > 0) return 'pass';
        isLost ||= type === 'N' && isReceipt(text);
        if (!isLost) return 'pass';
        return type === 'Z' ? 'cut' : 'lose';
      };
      const fates = await Promise.all(
        requests(scene, count, { producer }).map((each) => fateOf(scene.ledger.append(each))),
      );
      expect(fates[0]).toMatchObject({
        kind: 'appended',
        first: 2,
        last: 3,
        at: expect.stringMatching(/Z$/) as string,
      });
      expect(fates.map((fate) => fate.kind)).toEqual(fates.map(() => 'appended'));
    }));

  it('with the receipt lost and no producer: told as unknown, which it is', () =>
    withScene({}, async (scene) => {
      scene.proxy.fromServer = (type, text) =>
        scene.proxy.cuts === 0 && type === 'N' && isReceipt(text) ? 'cut' : 'pass';
      const fates = await Promise.all(requests(scene, count).map((each) => fateOf(scene.ledger.append(each))));
      expect(fates).toEqual(fates.map(() => ({ kind: 'error', code: 'append_unknown' })));
    }));

  it('before the statement arrived: a producer’s counters tell that it is not stored, and it may go again', () =>
    withScene({}, async (scene) => {
      scene.proxy.fromClient = (text) => (scene.proxy.cuts === 0 && text.includes('1\n2') ? 'cut' : 'pass');
      const fates = await Promise.all(
        requests(scene, count, { producer }).map((each) => fateOf(scene.ledger.append(each))),
      );
      expect(scene.proxy.cuts).toBe(1);
      expect(fates).toEqual(fates.map(() => ({ kind: 'error', code: 'unavailable' })));
      const again = await Promise.all(
        requests(scene, count, { producer }).map((each) => fateOf(scene.ledger.append(each))),
      );
      expect(again.map((fate) => fate.kind)).toEqual(again.map(() => 'appended'));
      expect(await storedRows(database.url, scene.sessions[0])).toHaveLength(3);
    }));

  it('a backend that is ended inside its commit: told as not stored', () =>
    withScene({}, async (scene) => {
      await withSql(database.url, async (sql) => {
        await sql`select pg_advisory_lock(42)`;
        const appends = requests(scene, count, { events: [anEvent('1', 'waits')] }).map((each) =>
          fateOf(scene.ledger.append(each)),
        );
        await eventually('the commit waits', async () => {
          const rows = await sql<{ pid: number }[]>`
            select pid from pg_stat_activity where datname = current_database() and wait_event = 'advisory'`;
          return rows.length === 1;
        });
        await sql`select pg_terminate_backend(pid) from pg_stat_activity
                   where datname = current_database() and wait_event = 'advisory'`;
        expect(await Promise.all(appends)).toEqual(
          requests(scene, count).map(() => ({ kind: 'error', code: 'unavailable' })),
        );
        await sql`select pg_advisory_unlock(42)`;
      });
      expect(await storedRows(database.url, scene.sessions[0])).toHaveLength(1);
    }));

  it.each([
    ['inside its commit', 'waits'],
    ['while it inserts', 'waits-early'],
  ])('a server that falls silent %s: ended after the deadline, told as not stored, and so it stays', (_, type) =>
    withScene({ flushDeadlineMs: 300 }, async (scene) => {
      await withSql(database.url, async (sql) => {
        await sql`select pg_advisory_lock(42)`;
        const appends = requests(scene, count, { events: [anEvent('1', type)], producer });
        expect(await Promise.all(appends.map((each) => fateOf(scene.ledger.append(each))))).toEqual(
          appends.map(() => ({ kind: 'error', code: 'unavailable' })),
        );
        await sql`select pg_advisory_unlock(42)`;
        await eventually('nothing of it runs any more', async () => {
          const rows = await sql`
            select pid from pg_stat_activity
             where datname = current_database() and application_name like 'ledgerline lane%' and state = 'active'`;
          return rows.length === 0;
        });
      });
      expect(await scene.ledger.append({ session: scene.sessions[0], events: [anEvent('2')] })).toMatchObject({
        first: 2,
      });
    }),
  );
});

it('refusals that wrote nothing are told as they are, though the connection was lost', () =>
  withScene({}, async (scene) => {
    scene.proxy.fromServer = (type, text) =>
      scene.proxy.cuts === 0 && type === 'N' && isReceipt(text) ? 'last' : 'pass';
    const fates = await Promise.all(
      ['never', 'never-2'].map((session) => fateOf(scene.ledger.append({ session, events: [anEvent('1')] }))),
    );
    expect(scene.proxy.cuts).toBe(1);
    expect(fates).toEqual([{ kind: 'unknown_session' }, { kind: 'unknown_session' }]);
  }));

describe('after another server took over', () => {
  const ask = async (transaction: string) => {
    const pool = createPool({ url: database.url, connections: 1, name: 'test', log: silentLog, deadlineMs: 5_000 });
    const inquiry = createInquiry({ pool, clock: systemClock, log: silentLog, deadlineMs: 5_000 });
    const receipt = { transaction, at: '2026-11-30T04:00:00.000Z', firsts: [1], refused: [] };
    const lost = {
      kind: 'lost',
      connection: 'gone',
      receipt: JSON.stringify(receipt),
      error: new Error('lost'),
    } as const;
    const answers = await inquiry.settle([{ session: 'nobody', events: [anEvent('1')] }], lost);
    await pool.close(0);
    return answers;
  };

  it('a transaction that it has not heard of is not stored there', async () => {
    expect(await ask('4294967000')).toMatchObject([{ code: 'unavailable' }]);
  });

  it('a number that it gave to another transaction does not pass for ours', async () => {
    const [row] = await withSql(
      database.url,
      (sql) => sql<{ transaction: string }[]>`select pg_current_xact_id()::text as transaction`,
    );
    expect(await ask(row?.transaction ?? '')).toMatchObject([{ code: 'append_unknown' }]);
  });
});

/** Compares everything that was answered with everything that is stored. */
async function expectAnswersToAgree(
  url: string,
  session: string,
  answers: readonly { data: string; fate: Awaited<ReturnType<typeof fateOf>> }[],
): Promise<void> {
  const rows = await storedRows(url, session);
  expect(rows.map((row) => row.sequence)).toEqual(countTo(rows.length));
  const sequenceOf = new Map(rows.map((row) => [row.data, row.sequence]));
  expect(sequenceOf.size).toBe(rows.length); // nothing twice
  for (const { data, fate } of answers) {
    if (fate.kind === 'appended') expect([data, sequenceOf.get(data)]).toEqual([data, fate.first]);
    else if (fate.kind === 'error' && fate.code === 'append_unknown') continue;
    else expect([data, fate, sequenceOf.get(data)]).toEqual([data, { kind: 'error', code: 'unavailable' }, undefined]);
  }
}

describe('under load', () => {
  const writers = 8;

  /** Appends until told to stop; every second writer names itself as a producer. */
  function load(ledger: PostgresLedger, sessions: readonly string[]) {
    const answers = new Map(
      sessions.map((session) => [session, [] as { data: string; fate: Awaited<ReturnType<typeof fateOf>> }[]]),
    );
    let isStopping = false;
    const loops = countTo(writers).map(async (writer) => {
      for (let turn = 1; !isStopping; turn++) {
        const session = sessions[turn % sessions.length] ?? '';
        const data = `"${writer}-${turn}"`;
        const fate = await fateOf(
          ledger.append({
            session,
            events: [anEvent(data)],
            ...(writer % 2 === 0 && { producer: { id: `w${writer}`, sequence: turn } }),
          }),
        );
        answers.get(session)?.push({ data, fate });
      }
    });
    return {
      answers,
      appended: () => [...answers.values()].flat().filter(({ fate }) => fate.kind === 'appended').length,
      async stop() {
        isStopping = true;
        await Promise.all(loops);
      },
    };
  }

  it('every backend is ended, again and again: it recovers by itself, and every answer agrees with what is stored', async () => {
    const own = await freshDatabase();
    const ledger = openLedger(own.url);
    const sessions = ['a', 'b', 'c'];
    for (const session of sessions) await ledger.create(session, {});
    const running = load(ledger, sessions);
    await withSql(own.url, async (sql) => {
      for (const round of countTo(40)) {
        const before = running.appended();
        await eventually(`appends flow before the end ${round}`, () => running.appended() > before + (round % 7) * 5);
        await sql`select pg_terminate_backend(pid) from pg_stat_activity
                   where datname = current_database() and pid <> pg_backend_pid()`;
      }
    });
    const before = running.appended();
    await eventually('appends flow afterwards', () => running.appended() > before + 100);
    await running.stop();
    await ledger.ready();
    for (const session of sessions) await expectAnswersToAgree(own.url, session, running.answers.get(session) ?? []);
    const fates = [...running.answers.values()]
      .flat()
      .map(({ fate }) => (fate.kind === 'error' ? fate.code : fate.kind));
    expect(new Set(fates)).toContain('appended');
    await ledger.stop();
    await own.drop();
  });

  describe('on a server of its own', () => {
    let server: TestServer;
    beforeAll(async () => {
      server = await startPostgres();
    });
    afterAll(() => server.stop());

    it('the server is killed and comes back: it recovers, and every answer agrees with what is stored', async () => {
      const own = await freshDatabase({ on: server });
      const ledger = openLedger(own.url);
      await ledger.create('a', {});
      await ledger.create('b', {});
      const running = load(ledger, ['a', 'b']);
      for (const round of countTo(4)) {
        const before = running.appended();
        await eventually(`appends flow before the kill ${round}`, () => running.appended() > before + 50);
        await server.kill();
        await expect(ledger.ready()).rejects.toMatchObject({ code: 'unavailable' });
        await server.restart();
      }
      const before = running.appended();
      await eventually('appends flow afterwards', () => running.appended() > before + 50);
      await running.stop();
      for (const session of ['a', 'b'])
        await expectAnswersToAgree(own.url, session, running.answers.get(session) ?? []);
      await ledger.stop();
    });

    it('the server freezes: appends are answered after the deadline, and go on when it thaws', async () => {
      const own = await freshDatabase({ on: server });
      const ledger = openLedger(own.url, {
        flushDeadlineMs: 300,
        queryDeadlineMs: 300,
        headLockWaitMs: 100,
        readinessDeadlineMs: 100,
      });
      await ledger.create('a', {});
      await ledger.append({ session: 'a', events: [anEvent('1')] });
      server.freeze();
      const fates = await Promise.all(
        countTo(3).map((turn) => fateOf(ledger.append({ session: 'a', events: [anEvent(`"${turn}"`)] }))),
      );
      for (const fate of fates)
        expect(fate).toMatchObject({ code: expect.stringMatching(/append_unknown|unavailable/) as string });
      await expect(ledger.ready()).rejects.toMatchObject({ code: 'unavailable' });
      await expect(ledger.heads(['a'])).rejects.toMatchObject({ code: 'unavailable' });
      server.thaw();
      await eventually('the ledger is ready again', () => ledger.ready().then(() => true));
      await eventually(
        'appends go on',
        async () => (await ledger.append({ session: 'a', events: [anEvent('"after"')] })).kind === 'appended',
      );
      const rows = await storedRows(own.url, 'a');
      expect(rows.map((row) => row.sequence)).toEqual(countTo(rows.length));
      await ledger.stop();
    });
  });
});

it('a Postgres that is not there answers unavailable at once, to all that wait', async () => {
  const ledger = openLedger('postgres://nobody@127.0.0.1:1/nothing');
  const fates = await Promise.all(
    countTo(2_000).map(() => fateOf(ledger.append({ session: 'a', events: [anEvent('1')] }))),
  );
  expect(fates).toEqual(fates.map(() => ({ kind: 'error', code: 'unavailable' })));
  await expect(ledger.ready()).rejects.toMatchObject({ code: 'unavailable' });
  await expect(ledger.create('a', {})).rejects.toMatchObject({ code: 'unavailable' });
  await ledger.stop();
});
