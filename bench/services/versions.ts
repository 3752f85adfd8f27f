/** What a measurement ran on: this machine, and the versions of the servers and packages in it. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus, totalmem, type } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connect } from 'nats';
import { installedBinaries } from '../../src/db/postgres-binaries.ts';
import { onDatabase } from './database.ts';

export function machine(): string {
  const all = cpus();
  const memory = Math.round(totalmem() / 2 ** 30);
  return `${all.length} × ${all[0]?.model.trim() ?? 'unknown'}, ${memory} GiB, ${type()}, Node ${process.version}`;
}

export async function versions(): Promise<string> {
  const servers = [
    ['Postgres', await postgresVersion()],
    ['nats-server', await natsVersion()],
    ['Redis', said('redis-server', '--version')],
    ['nginx', said('nginx', '-v')],
    ['pgbench', said('pgbench', '--version')],
  ].flatMap(([name, version]) => (version === undefined ? [] : [`${name} ${version}`]));
  return [...servers, ...packages()].join(', ');
}

async function postgresVersion(): Promise<string | undefined> {
  const given = process.env['LEDGERLINE_BENCH_DATABASE_URL'];
  if (given === undefined) {
    const folder = installedBinaries();
    return folder === undefined ? undefined : said(join(folder, 'postgres'), '--version');
  }
  return onDatabase(given, async (sql) => {
    const [row] = await sql<{ version: string }[]>`select current_setting('server_version') as version`;
    return row?.version;
  });
}

async function natsVersion(): Promise<string | undefined> {
  const given = process.env['LEDGERLINE_BENCH_NATS_URL'];
  if (given === undefined) return said('nats-server', '--version');
  const client = await connect({ servers: given });
  const { version } = client.info ?? {};
  await client.close();
  return version;
}

/** The first number with dots in what a command says of itself; undefined where there is no such command. */
function said(command: string, argument: string): string | undefined {
  const { stdout, stderr } = spawnSync(command, [argument], {
    encoding: 'utf8',
    env: { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin` },
  });
  return /\d+(?:\.\d+)+/.exec(`${stdout ?? ''}${stderr ?? ''}`)?.[0];
}

function packages(): string[] {
  const text = readFileSync(fileURLToPath(new URL('../peers/package.json', import.meta.url)), 'utf8');
  const { dependencies } = JSON.parse(text) as { dependencies: Record<string, string> };
  return Object.entries(dependencies).map(([name, version]) => `${name} ${version}`);
}
