/** A minute of stalls and deaths under the shortest of leases: no stale write is taken, and nothing is lost or told twice. */
import { randomInt, randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import type { AgentDefinition } from '../../src/worker/define-agent.ts';
import type { DeafWrite } from '../support/deaf-worker.ts';
import { metric } from '../support/gateway-calls.ts';
import { countTo, withSql } from '../support/ledger.ts';
import { seededRandom } from '../support/manual-clock.ts';
import { say } from '../support/path-lookup.ts';
import { turnCrew } from '../support/turn-crew.ts';
import type { Crew } from '../support/turn-crew.ts';
import { toldEvents } from '../support/turn-rules.ts';
import { eventually } from '../support/waits.ts';
import type { WorkerProcess } from '../support/worker-process.ts';

const SOAK_MS = 60_000;
const LEASE_MS = 200;
const SESSIONS = 40;
/** Messages without an answer; a sender waits while there are more. */
const OUTSTANDING = 60;
/** Turns that end between two faults of the same hand. */
const ENDS_BETWEEN = 3;

const run: AgentDefinition['run'] = async (turn) => {
  for (let piece = 0; piece < 20; piece += 1) {
    await turn.append('text.delta', { message: turn.turn, text: '.' });
    await turn.flush();
  }
  return [{ type: 'message.completed', data: { message: turn.turn, role: 'assistant' } }];
};

const hires = {
  /** Minds its lease. */
  library: (crew: Crew) => crew.worker({ run, concurrency: 4, maxAttempts: 20 }),
  /** Does not, so that the fence alone keeps it from harm. */
  deaf: (crew: Crew) => crew.deafWorker({ maxAttempts: 20, pieces: 20, pauseMs: 5 }),
};

const count = (crew: Crew, what: 'ended' | 'outstanding'): Promise<number> =>
  withSql(crew.url, async (sql) => {
    const statuses = what === 'ended' ? 'done,failed' : 'pending,claimed';
    const [row] = await sql<{ count: number }[]>`
      select count(*)::int as count from ledgerline.turn_request
       where status = any (string_to_array(${statuses}::text, ','))`;
    return row?.count ?? 0;
  });

/**
 * Until the leases of what it held are over; or, if it is to sleep for long, until somebody else is at it, unless its
 * pause is long, or the sleeper has the head locked. Somebody else must be there for it: `staff` sees to that.
 */
const sleepsThrough = (
  crew: Crew,
  { name }: WorkerProcess,
  isLong: boolean,
  staff: () => Promise<void>,
): Promise<true> =>
  withSql(crew.url, async (sql) => {
    const heads = await sql<{ turn: string }[]>`
      select turn_id as turn from ledgerline.session_head
       where turn_state = 'running' and worker_id = ${name}::text`;
    const held = heads.map(({ turn }) => turn).join(',');
    const overMs = isLong ? 5 * LEASE_MS : LEASE_MS;
    const isOver = async (): Promise<boolean> => {
      await staff();
      const still = await sql`
        select from ledgerline.session_head h
         where h.turn_id = any (string_to_array(${held}::text, ','))
           and case h.turn_state
                 when 'running' then h.worker_id = ${name}::text
                                     and h.lease_until > clock_timestamp() - ${overMs}::int * interval '1 millisecond'
                 when 'ready' then ${isLong}::boolean and h.due_at < clock_timestamp() + interval '2 seconds'
                 else false
               end`;
      return still.length === 0;
    };
    return eventually('what it held is over, or taken', isOver, 60_000);
  });

it(
  `six workers with leases of ${LEASE_MS} ms, stalled and killed at random, answer every message once [I10] [I11] [pg-boss#555]`,
  { timeout: 240_000 },
  async () => {
    const seed = Number(process.env['LEDGERLINE_TEST_SEED'] ?? randomInt(2 ** 31));
    say(`the soak's faults are those of LEDGERLINE_TEST_SEED=${seed}`);
    const crew = await turnCrew({ leaseMs: LEASE_MS });
    const sessions = await Promise.all(countTo(SESSIONS).map(() => crew.session()));
    const everybody: WorkerProcess[] = [];
    let isOver = false;
    const faults = { kills: 0, stalls: 0 };

    async function hire(kind: keyof typeof hires): Promise<WorkerProcess> {
      const worker = await hires[kind](crew);
      everybody.push(worker);
      return worker;
    }

    async function send(random: () => number): Promise<void> {
      while (!isOver) {
        await eventually(
          'there are answers',
          async () => isOver || (await count(crew, 'outstanding')) < OUTSTANDING,
          60_000,
        );
        const session = sessions[Math.floor(random() * sessions.length)] ?? '';
        const key = randomUUID();
        expect((await crew.say(session, 'Go on', key)).status).toBe(201);
        if (random() < 0.2) expect((await crew.say(session, 'Go on', key)).status).toBe(200);
      }
    }

    /** One hand hurts one worker of each kind, so that at no time all are down. */
    async function hurt(random: () => number): Promise<void> {
      const workers = { library: await hire('library'), deaf: await hire('deaf') };
      /** In the place of those that were killed, or ended by their watchdogs, which a busy machine wakes late. */
      async function staff(): Promise<void> {
        for (const kind of ['library', 'deaf'] as const) {
          if (!workers[kind].isRunning) workers[kind] = await hire(kind);
        }
      }
      while (!isOver) {
        const ended = await count(crew, 'ended');
        const endEnough = async (): Promise<boolean> => {
          await staff();
          return isOver || (await count(crew, 'ended')) >= ended + ENDS_BETWEEN;
        };
        await eventually('some turns end', endEnough, 60_000);
        const kind = random() < 0.5 ? 'library' : 'deaf';
        const worker = workers[kind];
        if (random() < 0.3) {
          faults.kills += 1;
          await worker.kill();
        } else {
          faults.stalls += 1;
          worker.freeze();
          await sleepsThrough(crew, worker, random() < 0.5, staff);
          worker.thaw();
        }
        await staff();
      }
    }

    const hands = countTo(3).map((hand) => hurt(seededRandom(seed + hand)));
    const senders = countTo(2).map((sender) => send(seededRandom(seed - sender)));
    const all = Promise.all([...hands, ...senders]);
    const endMs = performance.now() + SOAK_MS;
    await Promise.race([all, eventually('the soak is over', () => performance.now() > endMs, 2 * SOAK_MS)]);
    isOver = true;
    await all;
    await hire('library');
    await crew.rests(120_000);

    expect(await crew.breaches()).toEqual([]);
    const writes = everybody
      .flatMap((worker) => worker.lines())
      .filter((line) => line.startsWith('{"mark"'))
      .map((line) => JSON.parse(line) as DeafWrite);
    const events = await withSql(crew.url, (sql) => toldEvents(sql));
    const stored = new Set(events.map(({ data }) => data['mark']));
    const taken = writes.filter(({ status }) => status === 200 || status === 201);
    const refused = writes.filter(({ status }) => status >= 400);
    expect(taken.filter(({ mark }) => !stored.has(mark))).toEqual([]);
    expect(refused.filter(({ mark, code }) => stored.has(mark) || code !== 'fenced')).toEqual([]);
    expect(refused.length, 'stale writes were tried').toBeGreaterThan(0);
    // of some the writer was killed before it could tell
    expect(await metric(crew.at, 'ledgerline_fenced_writes_total')).toBeGreaterThanOrEqual(refused.length);
    const [{ deadlocks } = { deadlocks: -1 }] = await withSql(
      crew.url,
      (sql) => sql<{ deadlocks: number }[]>`
      select deadlocks::int from pg_stat_database where datname = current_database()`,
    );
    expect(deadlocks).toBe(0);
    const ends = events.filter(({ type }) => type === 'turn.completed' || type === 'turn.failed').length;
    const takeovers = events.filter(({ type }) => type === 'turn.retrying').length;
    say(
      `the soak: ${faults.kills} kills, ${faults.stalls} stalls, ${ends} turns, ${takeovers} takeovers, ${refused.length} stale writes`,
    );
  },
);
