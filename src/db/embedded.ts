/** The zero-configuration Postgres: real, durable, on the loopback, and gone when this process is. */
import { existsSync } from 'node:fs';
import { backoffMs } from '../base/backoff.ts';
import { sleep, systemClock } from '../base/clock.ts';
import { LedgerlineError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { type Service, detach } from '../base/service.ts';
import { type DataFolder, makeCluster, openDataFolder, readPassword } from './data-folder.ts';
import { waitUntilFree } from './data-holder.ts';
import { type Places, findBinaries } from './postgres-binaries.ts';
import {
  type Binaries,
  DATABASE_USER,
  type PostgresProcess,
  PostgresStartFailed,
  initializeData,
  runPostgres,
} from './postgres-process.ts';

export interface EmbeddedPostgres extends Service {
  /** Valid once it has started, and as long as it runs. */
  readonly url: string;
}

export interface EmbeddedOptions {
  /** Ledgerline's own folder of the project; Postgres gets `postgres` in it. */
  readonly folder: string;
  readonly log: Log;
  /** Where to look for binaries, and where to put data that its user could not reach in place; for tests. */
  readonly places?: Places;
  readonly stateFolder?: string;
}

const restartBackoff = { firstMs: 200, capMs: 10_000 };

export function embeddedPostgres(options: EmbeddedOptions): EmbeddedPostgres {
  const { log } = options;
  const stopping = new AbortController();
  let running: { readonly folder: DataFolder; readonly binaries: Binaries; postgres: PostgresProcess } | undefined;
  let watching: Promise<void> = Promise.resolve();

  /** It dies when the kernel runs out of memory, or by a hand; meanwhile appends are refused and streams stay open. */
  async function keepRunning(): Promise<void> {
    let attempt = 0;
    let upSinceMs = systemClock.now();
    // asked after each start, too: what came up while we were stopping is ended by `stop`, which waits for us first
    while (running !== undefined && !stopping.signal.aborted) {
      const code = await running.postgres.ended;
      if (stopping.signal.aborted) return;
      log.error({ code }, 'the embedded Postgres ended unexpectedly: starting it again');
      // one that starts and dies at once, again and again, is no recovery
      if (systemClock.now() - upSinceMs > restartBackoff.capMs) attempt = 0;
      await sleep(backoffMs(restartBackoff, attempt, systemClock.random()), stopping.signal);
      attempt += 1;
      if (stopping.signal.aborted) return;
      const { binaries, folder, postgres } = running;
      try {
        running.postgres = await runPostgres({ binaries, data: folder.data, port: postgres.port, log });
        upSinceMs = systemClock.now();
      } catch (error) {
        log.error({ err: error }, 'the embedded Postgres did not start again');
      }
    }
  }

  return {
    name: 'embedded-postgres',
    get url() {
      if (running === undefined) throw new LedgerlineError('configuration', 'the embedded Postgres has not started');
      const password = readPassword(running.folder);
      return `postgres://${DATABASE_USER}:${password}@127.0.0.1:${running.postgres.port}/postgres`;
    },
    async start() {
      const startMs = systemClock.now();
      const folder = openDataFolder(options.folder, log, options.stateFolder);
      const { account, copies, data } = folder;
      const binaries = findBinaries({ account, copies, log, ...(options.places && { places: options.places }) });
      if (!existsSync(folder.cluster)) {
        log.info({ folder: folder.path }, `preparing a Postgres in ${folder.path}, once`);
        await makeCluster(folder, (unfinished, passwordFile) => initializeData(binaries, unfinished, { passwordFile }));
      }
      await waitUntilFree(data, log);
      const postgres = await runPostgres({ binaries, data, log }).catch(async (error: unknown) => {
        // somebody was quicker since we looked: say who, rather than what Postgres says
        if (error instanceof PostgresStartFailed && error.reason === 'held') await waitUntilFree(data, log);
        throw error;
      });
      running = { folder, binaries, postgres };
      watching = keepRunning();
      detach(watching, log, 'the watch over the embedded Postgres failed');
      const { pid, port } = postgres;
      log.info({ pid, port, tookMs: Math.round(systemClock.now() - startMs) }, 'the embedded Postgres runs');
    },
    async stop() {
      stopping.abort();
      await running?.postgres.stop();
      await watching;
      // one that was being started again when we began to stop
      await running?.postgres.stop();
    },
  };
}
