/** A server inside a program of yours: what `ledgerline serve` runs, with settings instead of an environment. */
import { LedgerlineError } from './base/errors.ts';
import { createLog } from './base/log.ts';
import { readServerConfig } from './config.ts';
import type { ServerConfig } from './config.ts';
import { migrate } from './db/migrate.ts';
import { createGateway } from './gateway.ts';
import { requireSchema } from './schema.ts';
import { environmentOf, inSettings, unknownSettings } from './server-settings.ts';
import type { ServerSettings } from './server-settings.ts';

export { LedgerlineError };

export interface ServerOptions extends ServerSettings {
  /** Bring the database up to date before the start, as `ledgerline serve --migrate`. A start refuses an older one if left out. */
  readonly migrate?: boolean | undefined;
  /** Gets the log, a line of JSON with its line break at a time: a writable stream will do. Standard error if left out. */
  readonly log?: { write(line: string): unknown } | undefined;
}

export interface Server {
  /** `http://host:port`, for readers. Throws before the end of `start`. */
  readonly publicUrl: string;
  /** `http://host:port`, for producers and operators. Throws before the end of `start`. */
  readonly internalUrl: string;
  /**
   * Resolves when both listeners serve. A server starts once: after a stop, make another.
   *
   * Rejects with a `LedgerlineError`, and whatever had started is stopped then. Its `code` is `unavailable` (Postgres is away,
   * or its schema is older than this release), `schema_newer`, `configuration` (a port is taken) or `draining` (it was
   * stopped).
   */
  start(): Promise<void>;
  /**
   * Drains, within `drainMs`: nobody new is let in, readers are told when to come back, requests in flight are answered, and
   * the connections close. Never rejects, and may be called at any time, again and before the start, too; a start that is
   * under way, and its migration, is waited for first.
   */
  stop(): Promise<void>;
}

/**
 * A server with its two listeners, not started yet. It installs no handlers of signals and never ends the process: that is
 * the program's. Several in one process are apart from each other; on one database they need `natsUrl`.
 *
 * Throws a `LedgerlineError` whose `code` is `configuration`, naming every setting that is missing or wrong, and no value.
 */
export function createServer({ migrate: isMigrating = false, log: destination, ...settings }: ServerOptions): Server {
  const config = readConfig(settings);
  const log = createLog(config.logLevel, destination);
  const gateway = createGateway(config, log);
  let starting: Promise<void> | undefined;
  let isStopped = false;

  async function start(): Promise<void> {
    if (isMigrating) await migrate(config.databaseUrl, log, { prepare: config.databasePrepare });
    else await requireSchema(config, log);
    if (isStopped) throw new LedgerlineError('draining', 'the server was stopped before it had started');
    await gateway.start();
  }

  return {
    start() {
      if (isStopped) return Promise.reject(new LedgerlineError('draining', 'the server was stopped: make another'));
      starting ??= start();
      return starting;
    },
    async stop() {
      isStopped = true;
      if (starting === undefined) return;
      const hasStarted = await starting.then(
        () => true,
        () => false, // its caller knows why
      );
      if (hasStarted) await gateway.stop();
    },
    get publicUrl() {
      return gateway.publicUrl;
    },
    get internalUrl() {
      return gateway.internalUrl;
    },
  };
}

function readConfig(settings: ServerSettings): ServerConfig {
  const unknown = unknownSettings(settings);
  if (unknown.length > 0) throw new LedgerlineError('configuration', `no settings: ${unknown.join(', ')}`);
  try {
    return readServerConfig(environmentOf(settings));
  } catch (error) {
    if (!(error instanceof LedgerlineError)) throw error;
    throw new LedgerlineError(error.code, inSettings(error.message), error.fields, error);
  }
}
