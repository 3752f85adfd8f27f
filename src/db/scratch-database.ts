/** A database of our own beside another one, made anew for each use: nothing of an earlier use is in it. */
import { LedgerlineError, toError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { connect, disconnect, isUnavailable, sqlState } from './postgres.ts';
import type { ConnectOptions, Sql } from './postgres.ts';

export interface ScratchOptions extends Pick<ConnectOptions, 'prepare'> {
  /** The database that it lies beside. */
  readonly url: string;
  /** What its name ends with. */
  readonly suffix: string;
  readonly log: Log;
}

/** The comment by which a database is known to be ours: no other one is ever dropped. */
const OURS = 'Made by Ledgerline for trials of a development server, and dropped before each.';

/** What Postgres cuts a name to, in bytes. */
const NAME_BYTES = 63;

/** Its address. Whoever is still connected to the one before is cut off. */
export async function makeScratchDatabase({ url, suffix, log, ...reach }: ScratchOptions): Promise<string> {
  const sql = connect({ url, connections: 1, name: 'ledgerline crash lab', log, ...reach });
  try {
    const name = await nameBeside(sql, suffix);
    await dropOurs(sql, name);
    // Of the one template that nobody can be connected to.
    await sql`create database ${sql(name)} template template0`;
    await sql.unsafe(`comment on database "${name.replaceAll('"', '""')}" is '${OURS}'`);
    return addressOf(url, name);
  } catch (thrown) {
    throw explained(thrown);
  } finally {
    await disconnect(sql, 1_000);
  }
}

async function nameBeside(sql: Sql, suffix: string): Promise<string> {
  const [row] = await sql<{ name: string }[]>`select current_database() as name`;
  const room = NAME_BYTES - Buffer.byteLength(suffix);
  const start = Buffer.from(row?.name ?? '').subarray(0, room);
  return `${start.toString().replace(/\ufffd+$/u, '')}${suffix}`;
}

async function dropOurs(sql: Sql, name: string): Promise<void> {
  const [row] = await sql<{ comment: string | null }[]>`
    select shobj_description(d.oid, 'pg_database') as comment from pg_catalog.pg_database d where d.datname = ${name}::text`;
  if (row === undefined) return;
  if (row.comment !== OURS) {
    throw new LedgerlineError(
      'configuration',
      `there is a database ${name} that Ledgerline did not make: rename it, or give the development server another DATABASE_URL`,
    );
  }
  await sql`drop database ${sql(name)} with (force)`;
}

function addressOf(url: string, name: string): string {
  const address = new URL(url);
  address.pathname = `/${encodeURIComponent(name)}`;
  return address.href;
}

function explained(thrown: unknown): unknown {
  // insufficient_privilege
  if (sqlState(thrown) === '42501') {
    return new LedgerlineError(
      'configuration',
      'the role of DATABASE_URL may not make a database of its own: let a superuser run ALTER ROLE … CREATEDB, or leave DATABASE_URL ' +
        `out, and the development server brings a Postgres of its own (Postgres says: ${toError(thrown).message})`,
      {},
      thrown,
    );
  }
  return isUnavailable(thrown) ? new LedgerlineError('unavailable', 'Postgres is away', {}, thrown) : thrown;
}
