/** Erasing what deleted sessions left: batch by batch, one session after another, until all of it is gone. */
import { backoffMs } from '../base/backoff.ts';
import { sleep } from '../base/clock.ts';
import type { Clock } from '../base/clock.ts';
import { toError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import { detach } from '../base/service.ts';
import type { Statements } from '../db/postgres.ts';
import type { Pool } from '../db/pool.ts';

export interface Erasure {
  /** Erases every deleted session that still has events, now or as soon as Postgres is there. Returns at once. */
  request(): void;
  /** Lets the batch in flight finish; the rest is found again at the next start. */
  stop(): Promise<void>;
}

const backoff = { firstMs: 200, capMs: 30_000 };

export interface ErasureOptions {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly log: Log;
  /** Erases what the floors above keep of a session. */
  readonly eraseWork: (sql: Statements, session: string) => Promise<void>;
}

export function createErasure({ pool, clock, log, eraseWork }: ErasureOptions): Erasure {
  const stopping = new AbortController();
  let isWanted = false;
  let running: Promise<void> | undefined;

  async function run(): Promise<void> {
    for (let failures = 0; isWanted && !stopping.signal.aborted;) {
      isWanted = false;
      try {
        await eraseAll();
        failures = 0;
      } catch (error) {
        log.warn({ err: toError(error) }, 'erasing deleted sessions failed; it will be tried again');
        isWanted = true;
        await sleep(backoffMs(backoff, failures++, clock.random()), stopping.signal);
      }
    }
    running = undefined;
  }

  async function eraseAll(): Promise<void> {
    for (;;) {
      const [next] = await pool.run(
        'looking for sessions to erase',
        (sql) => sql<{ session: string }[]>`
          select session from ledgerline.session
           where deleted_at is not null and erased_at is null order by deleted_at limit 1`,
      );
      if (next === undefined || stopping.signal.aborted) return;
      while (!(await eraseBatch(next.session))) if (stopping.signal.aborted) return;
      log.info({ session: next.session }, 'a deleted session was erased');
    }
  }

  /**
   * One batch, one transaction: a long one would keep every dead row of the database for as long as it runs. True when
   * there was nothing left. The tombstone's commit comes first, so no event can be added behind the last batch.
   */
  async function eraseBatch(session: string): Promise<boolean> {
    const [batch] = await pool.run(
      'erasing a deleted session',
      (sql) => sql<{ rows: number }[]>`
        with erased as (
          delete from ledgerline.event
           where session = ${session}::text
             and sequence <= (
               select max(b.sequence)
                 from (select e.sequence, row_number() over lowest as place, sum(e.bytes) over lowest as bytes_so_far
                         from ledgerline.event e where e.session = ${session}::text
                       window lowest as (order by e.sequence rows unbounded preceding)
                        order by e.sequence limit ${limits.eraseRows}::int) b
                where b.bytes_so_far <= ${limits.eraseBytes}::int or b.place = 1)
          returning 1
        )
        select count(*) as rows from erased`,
    );
    if (batch !== undefined && batch.rows > 0) return false;
    await pool.run('erasing the work of a deleted session', (sql) => eraseWork(sql, session));
    await pool.run(
      'finishing an erasure',
      (sql) => sql`
        with positions as (delete from ledgerline.read_position where session = ${session}::text)
        update ledgerline.session set erased_at = clock_timestamp()
         where session = ${session}::text and deleted_at is not null and erased_at is null`,
    );
    return true;
  }

  return {
    request() {
      if (stopping.signal.aborted) return;
      isWanted = true;
      if (running !== undefined) return;
      running = run();
      detach(running, log, 'erasing ended unexpectedly');
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
