/** `npm start` on a user's disk: as root and not, twice, after a kill, in places and installs that are not as they should be. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type Account, identity, isRoot } from '../../src/db/account.ts';
import { readPostmasterFile } from '../../src/db/postgres-process.ts';
import { isAlive, processInfo } from '../../src/db/process-table.ts';
import { append, createSession } from '../support/gateway-calls.ts';
import { installByApt, onPath } from '../support/path-lookup.ts';
import { makeProject } from '../support/project.ts';
import type { Project, Server, Start } from '../support/project.ts';
import { readStream } from '../support/sse-reader.ts';
import { eventually } from '../support/waits.ts';

// each start is npm, Node, initdb and Postgres
vi.setConfig({ testTimeout: 180_000 });

const NOBODY: Account = { name: 'nobody', uid: 65_534, gid: 65_534 };
/** Only root can become somebody else; an ordinary user's run shows the ordinary user. */
const users: readonly { name: string; owner: Account | undefined }[] = isRoot()
  ? [
      { name: 'root', owner: undefined },
      { name: 'an ordinary user', owner: NOBODY },
    ]
  : [{ name: 'an ordinary user', owner: undefined }];

const anyPorts = ['--port', '0', '--internal-port', '0'];
const quiet = [...anyPorts, '--no-demo'];
const isPostgresThere = ({ inData }: Project): boolean =>
  existsSync(inData('postgres', 'cluster', 'data', 'postmaster.pid'));

const placeOf = (server: Server): { internalUrl: string; key: string } => ({
  internalUrl: server.internal,
  key: server.key,
});

async function appendOne(server: Server): Promise<number> {
  await createSession(placeOf(server), 'kept');
  const { status, text } = await append(placeOf(server), 'kept', '"kept"');
  expect(status).toBe(201);
  return (JSON.parse(text) as { last: number }).last;
}

async function read(server: Server, token: string): Promise<{ status: number; head: number }> {
  const response = await fetch(`${server.public}/sessions/kept`, { headers: { authorization: `Bearer ${token}` } });
  return { status: response.status, head: ((await response.json()) as { head: number }).head };
}

/** It ends by itself, with one line that says why, and no stack of ours. */
async function expectRefusal(start: Start, code: number, message: RegExp): Promise<void> {
  expect(await start.exit).toBe(code);
  const said = start
    .stderr()
    .split('\n')
    .filter((line) => line.startsWith('ledgerline: '));
  expect(said.join('\n')).toMatch(message);
  expect(start.stderr()).not.toMatch(/^ +at /m);
  expect(start.family()).toEqual([]);
}

/** npm's shell ends by the signal that it got too, once its child has ended; a shell that became the child does not. */
function expectInterrupted(code: number | undefined): void {
  expect([undefined, 0]).toContain(code);
}

describe.each(users)('npm start as $name', ({ owner }) => {
  test('brings up everything, and the line that it prints streams the demo', async () => {
    const start = makeProject({ owner }).start({ arguments: anyPorts });
    const { public: url, token } = await start.server();
    const line = /^ +(curl .+)$/m.exec(start.stdout())?.[1] ?? '';
    expect(line).toBe(`curl -N -H 'Authorization: Bearer ${token}' ${url}/sessions/demo/stream`);
    needCurl();
    const curl = spawn('/bin/sh', ['-c', `exec ${line}`], { stdio: ['ignore', 'pipe', 'ignore'], ...identity(owner) });
    onTestFinished(() => void curl.kill('SIGKILL'));
    let text = '';
    curl.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    await eventually('the demo plays', () => text.includes('"sequence":5,'));
    expect(text).toMatch(/^retry: \d+\n\nevent: hello\nid: 0\n/);
  });

  test('on Ctrl-C tells its readers, ends all that it started, and keeps data and tokens for the next', async () => {
    const project = makeProject({ owner });
    const first = project.start({ arguments: quiet });
    const server = await first.server();
    expect(await appendOne(server)).toBe(1);
    const headers = { authorization: `Bearer ${server.token}` };
    const reader = await readStream(`${server.public}/sessions/kept/stream`, headers);
    await reader.frame('connected');
    const family = first.family();
    expect(family).toContain(postgresOf(project));
    first.interrupt();
    await reader.ended();
    expect(reader.frames.at(-1)).toMatchObject({ event: 'goaway', id: '1' });
    expectInterrupted(await first.exit);
    expect(first.stderr()).toBe('');
    expect(family.filter(isAlive)).toEqual([]);
    expect(readdirSync(project.inData()).toSorted()).toEqual(['.gitignore', 'postgres', 'secrets.json']);

    const second = project.start({ arguments: quiet, isWithoutNpm: true });
    const again = await second.server();
    expect(again.key).toBe(server.key);
    expect(await read(again, server.token)).toEqual({ status: 200, head: 1 });
    expect(await appendOne(again)).toBe(2);
    second.interrupt();
    expect(await second.exit).toBe(0);
  });

  test('from an install without scripts runs, though Postgres lacks the links to its libraries', async () => {
    const project = makeProject({ owner, isWithoutScripts: true });
    expect(await appendOne(await project.start({ arguments: quiet }).server())).toBe(1);
    // its own, and not one that this machine has besides
    const [command] = processInfo(postgresOf(project))?.commandLine.split(' ') ?? [];
    expect(command).toContain(`${project.folder}/`);
  });

  test('below a folder that is closed to all others runs, and finds its data there again', async () => {
    const project = makeProject({ owner, parentMode: 0o700 });
    const first = project.start({ arguments: quiet });
    expect(await appendOne(await first.server())).toBe(1);
    first.interrupt();
    expectInterrupted(await first.exit);
    expect(await appendOne(await project.start({ arguments: quiet }).server())).toBe(2);
  });
});

function postgresOf({ inData }: Project): number {
  const file = readPostmasterFile(inData('postgres', 'cluster', 'data'));
  if (file === undefined) throw new Error('no Postgres runs in this project');
  return file.pid;
}

function needCurl(): void {
  if (onPath('curl') !== undefined || (installByApt('curl') && onPath('curl') !== undefined)) return;
  throw new Error('the line that npm start prints needs curl: put curl on the path');
}

test('npm start -- --json prints one line, and it is the whole answer', async () => {
  const project = makeProject();
  const start = project.start({ arguments: [...quiet, '--json'], environment: { npm_config_loglevel: 'silent' } });
  const server = await start.server();
  const { public: publicUrl, internal, token, key, page } = server;
  const said = JSON.parse(start.stdout()) as Record<string, string>;
  expect(start.stdout()).toBe(`${JSON.stringify(said)}\n`);
  expect(said).toEqual({ public: publicUrl, internal, token, key, page, database: said['database'] });
  expect(said['database']).toMatch(/^postgres:\/\//);
  expect(page).toBe(`${publicUrl}/#token=${token}`);
  expect(start.stdout()).toBe(readFileSync(project.inData('dev.json'), 'utf8'));
  expect(publicUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  expect(internal).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
});

describe('a second npm start in the same folder', () => {
  test('is refused while the first runs, which it leaves unharmed', async () => {
    const project = makeProject();
    const first = project.start({ arguments: quiet });
    const server = await first.server();
    const second = project.start({ arguments: quiet });
    await expectRefusal(
      second,
      1,
      /^ledgerline: a development server is running in .+\.ledgerline already: stop it, or /,
    );
    expect(await appendOne(server)).toBe(1);
    expect(JSON.parse(readFileSync(project.inData('dev.json'), 'utf8'))).toMatchObject(server);
  });

  test('works after the first was killed, with its data, and its Postgres is gone', async () => {
    const project = makeProject();
    const first = project.start({ arguments: quiet });
    const server = await first.server();
    expect(await appendOne(server)).toBe(1);
    const orphan = postgresOf(project);
    // npm, and with it Ledgerline: no part of it has time for anything
    process.kill(-first.pid, 'SIGKILL');
    const again = await project.start({ arguments: quiet }).server();
    expect(isAlive(orphan)).toBe(false);
    expect(await read(again, server.token)).toEqual({ status: 200, head: 1 });
    expect(await appendOne(again)).toBe(2);
  });
});

describe('npm start says what is in its way', () => {
  test('a port that is taken, and leaves nothing behind', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void other.close());
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const project = makeProject();
    const taken = project.start({
      arguments: ['--internal-port', '0', '--no-demo'],
      environment: { LEDGERLINE_PUBLIC_PORT: String(port) },
    });
    await expectRefusal(taken, 1, new RegExp(`^ledgerline: port ${port} is taken by another process: choose another`));
    expect([isPostgresThere(project), existsSync(project.inData('dev.json'))]).toEqual([false, false]);
    expect(await appendOne(await project.start({ arguments: quiet }).server())).toBe(1);
  });

  test('a folder of somebody else’s Postgres, which it leaves as it is', async () => {
    const project = makeProject();
    mkdirSync(project.inData('postgres'), { recursive: true });
    writeFileSync(project.inData('postgres', 'PG_VERSION'), '15\n');
    const start = project.start({ arguments: quiet });
    await expectRefusal(start, 2, /\.ledgerline\S* was not made by Ledgerline/);
    expect(readdirSync(project.inData('postgres'))).toEqual(['PG_VERSION']);
  });

  test('a folder with something else in it, of which it changes nothing', async () => {
    const project = makeProject();
    const names = ['.gitignore', 'thesis.txt'];
    mkdirSync(project.inData());
    for (const name of names) writeFileSync(project.inData(name), 'mine\n');
    await expectRefusal(project.start({ arguments: quiet }), 2, /\.ledgerline was not made by Ledgerline/);
    expect(readdirSync(project.inData()).toSorted()).toEqual(names);
    for (const name of names) expect(readFileSync(project.inData(name), 'utf8')).toBe('mine\n');
  });

  test('a file where its folder should be', async () => {
    const project = makeProject();
    writeFileSync(project.inData(), 'mine\n');
    await expectRefusal(
      project.start({ arguments: quiet }),
      2,
      /\.ledgerline is a file, not a folder; choose another with --data/,
    );
    expect(readFileSync(project.inData(), 'utf8')).toBe('mine\n');
  });

  test('a project that its user may not write', async () => {
    const project = makeProject();
    chmodSync(project.folder, 0o555);
    onTestFinished(() => chmodSync(project.folder, 0o755));
    const start = project.start({
      arguments: quiet,
      ...(isRoot() ? { as: NOBODY, environment: { HOME: '/nonexistent' } } : {}),
    });
    await expectRefusal(start, 2, /\.ledgerline may not be used by this user; choose another with --data/);
  });
});

// Only root leaves something behind that its next user may not touch.
test.each(isRoot() ? [NOBODY] : [])('npm start by $name is told of the data that root left there', async (user) => {
  const project = makeProject();
  const first = project.start({ arguments: quiet });
  await first.server();
  await first.kill();
  const second = project.start({ arguments: quiet, as: user, environment: { HOME: '/nonexistent' } });
  await expectRefusal(second, 2, /\.ledgerline may not be used by this user/);
});
