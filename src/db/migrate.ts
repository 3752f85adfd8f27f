/** Brings a database's schema up to this release: numbered files, forward only, each applied once in one transaction. */
import { readdir, readFile } from 'node:fs/promises';
import { LedgerlineError, toError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import { codeOf, connect, disconnect, isUnavailable, sqlState } from './postgres.ts';
import type { ConnectOptions, Sql, TransactionSql } from './postgres.ts';

/** Files that are numbered together, and the schema whose table `migration` says how far they were applied. */
export interface MigrationSet {
  readonly folder: URL;
  readonly schema: string;
}

/** The same place beside `src/` and beside `dist/`. */
const ledgerline: MigrationSet = { folder: new URL('../../sql/', import.meta.url), schema: 'ledgerline' };

/** Arbitrary and for ever: what migrators of one database wait for each other on. */
const LOCK = 4_743_129_117;

interface Migration {
  readonly number: number;
  readonly name: string;
  readonly text: string;
}

/** Whether a pooler stands in between. */
export type Reach = Pick<ConnectOptions, 'prepare'>;

/** Applies what is missing. Any number of processes may do so at once; one applies and the others find it done. */
export function migrate(
  url: string,
  log: Log,
  reach: Reach = {},
  set: MigrationSet = ledgerline,
): Promise<{ from: number; to: number }> {
  return onDatabase({ url, log, ...reach }, async (sql) => {
    const migrations = await readMigrations(set);
    await assertEncoding(sql);
    const from = await sql.begin((tx) => applied(tx, set));
    let to = from;
    for (const migration of migrations) {
      if (migration.number > to) to = await apply(sql, set, migration, log);
    }
    assertNotNewer(to, migrations);
    return { from, to };
  });
}

/** How far the database is and how far this release would bring it, without a change; `schema_newer` if it is ahead. */
export function compareSchema(
  url: string,
  log: Log,
  reach: Reach = {},
): Promise<{ database: number; release: number }> {
  return onDatabase({ url, log, ...reach }, async (sql) => {
    const migrations = await readMigrations(ledgerline);
    const database = await sql.begin((tx) => applied(tx, ledgerline));
    assertNotNewer(database, migrations);
    return { database, release: newestOf(migrations) };
  });
}

type Place = Reach & Pick<ConnectOptions, 'url' | 'log'>;

async function onDatabase<Result>(place: Place, work: (sql: Sql) => Promise<Result>): Promise<Result> {
  const sql = connect({ ...place, connections: 1, name: 'ledgerline migrate' });
  try {
    return await work(sql);
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    // A server that answers is not away: a wrong password, or a database that is not there, is its own to tell.
    const isAway = sqlState(error) === undefined;
    const absence = `is away (${codeOf(error) ?? 'no answer'}), so its schema could not be seen to`;
    const why = isAway ? absence : `refused: ${toError(error).message}`;
    throw new LedgerlineError('unavailable', `Postgres ${why}`, {}, error);
  } finally {
    await disconnect(sql, 1_000);
  }
}

const newestOf = (migrations: readonly Migration[]): number => migrations.at(-1)?.number ?? 0;

function assertNotNewer(database: number, migrations: readonly Migration[]): void {
  const release = newestOf(migrations);
  if (database <= release) return;
  throw new LedgerlineError(
    'schema_newer',
    `the database is at migration ${database} and this release knows ${release}: run a newer release`,
    { database, release },
  );
}

async function readMigrations({ folder }: MigrationSet): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => /^[0-9]{4}_[a-z_]+\.sql$/.test(name)).toSorted();
  return Promise.all(
    names.map(async (name) => ({
      number: Number(name.slice(0, 4)),
      name,
      text: await readFile(new URL(name, folder), 'utf8'),
    })),
  );
}

/** The lock lives as long as the transaction, so that it also holds behind a pooler in transaction mode. */
function apply(sql: Sql, set: MigrationSet, migration: Migration, log: Log): Promise<number> {
  return sql.begin<number>(async (tx) => {
    await tx`select pg_advisory_xact_lock(${LOCK}::bigint)`;
    const now = await applied(tx, set);
    if (now >= migration.number) return now; // another process was first
    // Behind a lock that is waited for, everybody else waits as well: for as long as a backup takes, if nothing ends it.
    await tx`select set_config('lock_timeout', ${`${limits.migrationLockMs}ms`}::text, true)`;
    await tx
      .unsafe(migration.text)
      .simple()
      .catch((thrown: unknown) => {
        throw sqlState(thrown) === '55P03' ? tableHeld(migration, thrown) : thrown;
      });
    await tx`insert into ${tx(set.schema)}.migration (number, name) values (${migration.number}::int, ${migration.name})`;
    log.info({ migration: migration.name }, 'migration applied');
    return migration.number;
  });
}

const tableHeld = ({ name }: Migration, cause: unknown): LedgerlineError =>
  new LedgerlineError(
    'unavailable',
    `${name} would change a table that somebody else holds, such as a backup; it was not applied: migrate again when that is over`,
    {},
    cause,
  );

async function applied(tx: TransactionSql, { schema }: MigrationSet): Promise<number> {
  // Not to_regclass(), which may still remember from before the lock that there is no such schema.
  const [table] = await tx<{ is_there: boolean }[]>`
    select exists (select from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
                    where n.nspname = ${schema}::text and c.relname = 'migration') as is_there`;
  if (table?.is_there !== true) return 0;
  const [row] = await tx<{ number: number }[]>`
    select coalesce(max(number), 0) as number from ${tx(schema)}.migration`;
  return row?.number ?? 0;
}

/** In another encoding the size of a payload would not be its size in UTF-8, and some payloads could not be stored. */
async function assertEncoding(sql: Sql): Promise<void> {
  const [row] = await sql<{ encoding: string }[]>`select current_setting('server_encoding') as encoding`;
  if (row?.encoding !== 'UTF8') {
    throw new LedgerlineError('configuration', `the database's encoding is ${row?.encoding}; it must be UTF8`);
  }
}
