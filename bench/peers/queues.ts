/** Queues on Postgres that a turn's claim and end are compared with, each filled and then emptied one job at a time. */

export interface Queue {
  readonly title: string;
  fill(jobs: number): Promise<void>;
  /** Until none is left; so many loops side by side. Resolves with how many were done. */
  empty(jobs: number, loops: number): Promise<number>;
  stop(): Promise<void>;
}

const NAME = 'bench';

/** `fetch` and `complete`, as its workers call them. */
export async function pgBoss(url: string): Promise<Queue> {
  const { default: PgBoss } = await import('pg-boss');
  const boss = new PgBoss({ connectionString: url, max: 10, supervise: false });
  boss.on('error', (error) => {
    throw error;
  });
  await boss.start();
  await boss.createQueue(NAME);
  return {
    title: 'pg-boss: fetch + complete',
    fill: (jobs) => boss.insert(Array.from({ length: jobs }, (_, n) => ({ name: NAME, data: { n } }))),
    async empty(_jobs, loops) {
      let done = 0;
      const loop = async (): Promise<void> => {
        for (;;) {
          const [job] = await boss.fetch(NAME);
          if (job === undefined) return;
          await boss.complete(NAME, job.id);
          done += 1;
        }
      };
      await Promise.all(Array.from({ length: loops }, loop));
      return done;
    },
    stop: () => boss.stop({ graceful: false }),
  };
}

/** Its own runner, with a task that does nothing. */
export async function graphileWorker(url: string): Promise<Queue> {
  const { Logger, makeWorkerUtils, run } = await import('graphile-worker');
  const logger = new Logger(() => () => undefined);
  const utils = await makeWorkerUtils({ connectionString: url });
  await utils.migrate();
  return {
    title: 'graphile-worker: a task that does nothing',
    async fill(jobs) {
      const add = `select graphile_worker.add_job('${NAME}', json_build_object('n', n)) from generate_series(1, $1::int) n`;
      await utils.withPgClient((client) => client.query(add, [jobs]));
    },
    async empty(jobs, loops) {
      let done = 0;
      let over: (() => void) | undefined;
      const all = new Promise<void>((resolve) => (over = resolve));
      const task = (): Promise<void> => {
        done += 1;
        if (done >= jobs) over?.();
        return Promise.resolve();
      };
      const runner = await run({
        connectionString: url,
        concurrency: loops,
        maxPoolSize: 10,
        noHandleSignals: true,
        logger,
        taskList: { [NAME]: task },
      });
      await all;
      await runner.stop();
      return done;
    },
    stop: () => utils.release(),
  };
}
