/** The floors under an append: a bare insert by Postgres's own tool, and a publish that JetStream acknowledges. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { connect } from 'nats';
import { machineMs, stampedData } from '../peers/payload.ts';
import { isOnPath } from './absent.ts';
import { onDatabase } from './database.ts';

export const hasPgbench = (): boolean => isOnPath('pgbench', '--version');

/** Inserts a second of so many connections, each of which commits `each` of its own. */
export async function bareInserts(url: string, connections: number, each: number): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'ledgerline-bench-pgbench-'));
  const script = join(folder, 'insert.sql');
  try {
    await onDatabase(url, async (sql) => {
      await sql`create table if not exists bench_insert (n bigint generated always as identity primary key, payload json)`;
    });
    await writeFile(script, `insert into bench_insert (payload) values ('${stampedData()}');\n`);
    const how = [
      '--no-vacuum',
      '--protocol=prepared',
      `--client=${connections}`,
      `--transactions=${each}`,
      `--file=${script}`,
    ];
    const { stdout } = await promisify(execFile)('pgbench', [...how, url]);
    const perSecond = /tps = ([0-9.]+)/.exec(stdout)?.[1];
    if (perSecond === undefined) throw new Error(`pgbench said:\n${stdout}`);
    return Number(perSecond);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Publishes a second to a stream in files, so many under way at a time. */
export async function jetStreamPublishes(url: string, underWay: number, roundMs: number): Promise<number> {
  const client = await connect({ servers: url });
  try {
    const manager = await client.jetstreamManager();
    await manager.streams.add({ name: 'bench-floor', subjects: ['bench-floor.*'] });
    const stream = client.jetstream();
    let published = 0;
    const startedMs = machineMs();
    const loop = async (_: unknown, index: number): Promise<void> => {
      while (machineMs() < startedMs + roundMs) {
        await stream.publish(`bench-floor.${index}`, Buffer.from(stampedData()));
        published += 1;
      }
    };
    await Promise.all(Array.from({ length: underWay }, loop));
    return (published / (machineMs() - startedMs)) * 1_000;
  } finally {
    await client.close();
  }
}
