/** The zero-configuration Postgres keeps what it stored, serves one process at a time, and never outlives it. */
import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import { accountFor } from '../../src/db/account.ts';
import { spawnGuarded } from '../../src/db/guarded-process.ts';
import { freePort } from '../../src/db/postgres-process.ts';
import { isAlive, processInfo } from '../../src/db/process-table.ts';
import { ask, dataOf, newFolder, pidOf, preparedFolder, startChild, startEmbedded } from '../support/embedded.ts';
import { childrenOf } from '../support/processes.ts';
import { eventually } from '../support/waits.ts';

describe('the embedded Postgres', () => {
  test('keeps what it stored over a restart', async () => {
    const folder = newFolder();
    const first = await startEmbedded(folder);
    await ask(first.url, 'create table kept as select 42 as answer');
    await first.stop();
    const second = await startEmbedded(folder);
    expect(await ask(second.url, 'select answer from kept')).toBe(42);
  });

  test('sorts by bytes, syncs to disk, and answers on the loopback alone', async () => {
    const { url } = await startEmbedded(await preparedFolder());
    expect(await ask(url, 'show server_encoding')).toBe('UTF8');
    expect(await ask(url, "select datcollate from pg_database where datname = 'postgres'")).toBe('C');
    expect(await ask(url, 'show fsync')).toBe('on');
    expect(await ask(url, 'show listen_addresses')).toBe('127.0.0.1');
    expect(await ask(url, 'show unix_socket_directories')).toBe('');
  });

  test('lets nobody in without the password, which only its user can read', async () => {
    const folder = await preparedFolder();
    const url = new URL((await startEmbedded(folder)).url);
    url.password = 'guessed';
    await expect(ask(url.href, 'select 1')).rejects.toThrow(/password authentication failed/);
    expect(statSync(join(folder, 'postgres', 'cluster', 'password')).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, 'postgres', 'cluster')).mode & 0o777).toBe(0o700);
  });

  test('closes what it opened when it stops, and stopping again changes nothing', async () => {
    const folder = await preparedFolder();
    const embedded = await startEmbedded(folder);
    const pid = pidOf(folder);
    await embedded.stop();
    await embedded.stop();
    expect(isAlive(pid)).toBe(false);
  });

  test('comes back at the same address after it was killed', async () => {
    const folder = await preparedFolder();
    const { url } = await startEmbedded(folder);
    const killed = pidOf(folder);
    process.kill(killed, 'SIGKILL');
    expect(await eventually('it answers again', () => ask(url, 'select 1'))).toBe(1);
    expect(pidOf(folder)).not.toBe(killed);
  });

  test('stops also while it is being started again', async () => {
    const folder = await preparedFolder();
    let isKilled = false;
    let stopped: Promise<void> | undefined;
    const write = (line: string) => {
      if (isKilled && line.includes('starting PostgreSQL')) stopped ??= embedded.stop();
    };
    const embedded = await startEmbedded(folder, { log: pino({ level: 'debug' }, { write }) });
    process.kill(pidOf(folder), 'SIGKILL');
    isKilled = true;
    await eventually('it is being started again', () => stopped !== undefined);
    await stopped;
    expect(() => pidOf(folder)).toThrow('no Postgres runs');
  });
});

describe('a folder', () => {
  test('that another start holds is refused, naming who and where', async () => {
    const folder = await preparedFolder();
    const holder = await startChild({ folder });
    const { host } = new URL(holder.url);
    await expect(startEmbedded(folder)).rejects.toMatchObject({
      code: 'configuration',
      message: expect.stringMatching(
        new RegExp(`in use by process ${holder.process.pid} .*process ${pidOf(folder)} at ${host}`),
      ),
    });
    expect(await ask(holder.url, 'select 1')).toBe(1);
  });

  test('that two first starts race for serves one, and names it to the other', async () => {
    const folder = newFolder();
    const starts = await Promise.allSettled([startChild({ folder }), startChild({ folder })]);
    expect(starts.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    const [refused] = starts.filter((result) => result.status === 'rejected');
    expect(String(refused?.reason)).toMatch(/is in use by process/);
    expect(readdirSync(join(folder, 'postgres')).toSorted()).toEqual(['cluster', 'made-by-ledgerline']);
  });

  test('that somebody else filled is refused and left as it is', async () => {
    const folder = newFolder();
    const foreign = join(folder, 'postgres');
    cpSync(import.meta.dirname, foreign, { recursive: true });
    const before = readdirSync(foreign);
    await expect(startEmbedded(folder)).rejects.toMatchObject({
      code: 'configuration',
      message: `${foreign} was not made by Ledgerline. Move it away, or choose another data folder.`,
    });
    expect(readdirSync(foreign)).toEqual(before);
  });

  test('with the process id of a stranger in postmaster.pid starts all the same', async () => {
    const folder = await preparedFolder();
    const embedded = await startEmbedded(folder);
    const stale = readFileSync(join(dataOf(folder), 'postmaster.pid'), 'utf8');
    await embedded.stop();
    // of the same user, whom Postgres would take for itself
    const stranger = await spawnGuarded({
      command: 'sleep',
      arguments: ['600'],
      stopSignal: 'TERM',
      workingFolder: '/',
      account: accountFor(join(folder, 'postgres')),
      onLine: () => undefined,
    });
    onTestFinished(() => stranger.release());
    writeFileSync(join(dataOf(folder), 'postmaster.pid'), stale.replace(/^\d+/, String(stranger.pid)));
    const again = await startEmbedded(folder);
    expect(await ask(again.url, 'select 1')).toBe(1);
    expect(isAlive(stranger.pid)).toBe(true);
  });
});

describe('a process that is gone', () => {
  test('takes its Postgres along, and the next start need not wait', async () => {
    const folder = await preparedFolder();
    const killed = await startChild({ folder });
    await ask(killed.url, 'create table kept as select 42 as answer');
    const pid = pidOf(folder);
    killed.process.kill('SIGKILL');
    const next = await startEmbedded(folder);
    expect(isAlive(pid)).toBe(false);
    expect(await ask(next.url, 'select answer from kept')).toBe(42);
  });

  test('takes its Postgres along although nobody starts again', async () => {
    const folder = await preparedFolder();
    const killed = await startChild({ folder });
    const pid = pidOf(folder);
    killed.process.kill('SIGKILL');
    await eventually('Postgres is gone', () => !isAlive(pid));
  });

  test('leaves an orphan when its guard was killed too, which the next start ends', async () => {
    const folder = await preparedFolder();
    const killed = await startChild({ folder });
    const pid = pidOf(folder);
    const guard = processInfo(pid)?.parent;
    expect(processInfo(Number(guard))?.parent).toBe(killed.process.pid);
    const watchers = childrenOf(Number(guard)).filter((other) => other !== pid);
    expect(watchers).toHaveLength(1);
    for (const victim of [...watchers, Number(guard), Number(killed.process.pid)]) process.kill(victim, 'SIGKILL');
    await eventually('the guard is gone', () => !isAlive(Number(guard)));
    expect(isAlive(pid)).toBe(true);
    const next = await startEmbedded(folder);
    expect(isAlive(pid)).toBe(false);
    expect(await ask(next.url, 'select 1')).toBe(1);
  });

  test('is not gone yet: Ctrl-C in its terminal does not reach its Postgres', async () => {
    const folder = await preparedFolder();
    const running = await startChild({ folder });
    const pid = pidOf(folder);
    process.kill(-Number(running.process.pid), 'SIGINT');
    expect(await ask(running.url, 'select 1')).toBe(1);
    expect(pidOf(folder)).toBe(pid);
  });
});

test('a port that was given once is given to nobody else', async () => {
  // 300 blind draws out of 12,000 would meet four times on average
  const ports = new Set<number>();
  for (let draw = 0; draw < 300; draw += 1) ports.add(await freePort());
  expect(ports.size).toBe(300);
});

test('a guard whose server has stopped leaves no process behind', async () => {
  const guarded = await spawnGuarded({
    command: 'sleep',
    arguments: ['1000'],
    stopSignal: 'TERM',
    workingFolder: '/',
    onLine: () => undefined,
  });
  const ps = (columns: string): string[] => execFileSync('ps', ['-A', '-o', columns], { encoding: 'utf8' }).split('\n');
  const group = ps('pid=,pgid=')
    .map((line) => line.trim().split(/ +/))
    .find(([pid]) => pid === String(guarded.pid))?.[1];
  expect(group).toBeDefined();
  guarded.release();
  await guarded.ended;
  await eventually(
    'its group is empty',
    () => !ps('pgid=,stat=').some((line) => line.trim().split(/ +/)[0] === group && !line.includes('Z')),
    5_000,
  );
});
