/** What goes in by `append` comes out of `tail`, to the last digit and through everything that can happen in between. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { endAll, makeWorkingFolder, runCli, startCli } from '../support/cli.ts';
import { startGateway } from '../support/gateway.ts';
import type { RunningGateway } from '../support/gateway.ts';
import { freshDatabase } from '../support/services.ts';
import { eventually } from '../support/waits.ts';

const folder = makeWorkingFolder();
let database: Awaited<ReturnType<typeof freshDatabase>>;
let gateway: RunningGateway;
let environment: Record<string, string>;
let session: string;
let count = 0;

beforeAll(async () => {
  database = await freshDatabase();
  gateway = await startGateway({ databaseUrl: database.url });
  environment = {
    LEDGERLINE_URL: gateway.publicUrl,
    LEDGERLINE_INTERNAL_URL: gateway.internalUrl,
    LEDGERLINE_TOKEN: gateway.token,
    LEDGERLINE_KEY: gateway.key,
  };
});
beforeEach(() => {
  session = `cli-${(count += 1)}`;
});
afterEach(endAll);
afterAll(async () => {
  await gateway.kill();
  await database.drop();
  folder.remove();
});

const run = (commandLine: readonly string[], input?: string) =>
  runCli(commandLine, { folder: folder.path, environment, ...(input === undefined ? {} : { input }) });
const start = (...commandLine: string[]) => startCli(commandLine, { folder: folder.path, environment });
const append = (input: string, ...options: string[]) => run(['append', session, '--type', 'note', ...options], input);
const close = () => run(['close', session]);
const lines = (text: string) => text.split('\n').slice(0, -1);
const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => String(from + index));

describe('append', () => {
  const payloads = [
    '{"n":9007199254740993,"z":-0,"a":1.10}',
    '"half an emoji: \\ud83d, a NUL: \\u0000"',
    'null',
    '{"text":"é 😀"}',
    '"{}"',
    '[]',
    '1e400',
  ];

  it('stores each line as it is, and tail --data gives it back to the last digit [I2]', async () => {
    const { code, stdout, stderr } = await append(`${payloads.join('\n\n')}\r\n`);
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '', stderr: 'appended 7 events, 1…7\n' });
    expect((await append('8')).stderr).toBe('appended 1 event, 8…8\n');
    await close();
    const tail = await run(['tail', session, '--data', '--until-end']);
    expect(tail.code).toBe(0);
    expect(lines(tail.stdout)).toEqual([...payloads, '8']);
  });

  it('sends each line as it comes', async () => {
    const appending = start('append', session, '--type', 'note');
    appending.write('1\n');
    await eventually('the session is there', async () => (await describeSession()).head === 1);
    const tail = start('tail', session, '--data');
    await eventually('the first line is out', () => tail.stdout() === '1\n');
    appending.write('2\n3');
    await eventually('the second line is out', () => tail.stdout() === '1\n2\n');
    appending.endInput();
    await eventually('the last line is out', () => tail.stdout() === '1\n2\n3\n');
    expect(await appending.exit).toBe(0);
  });

  it('names the line that is not JSON, and has stored those before it', async () => {
    const { code, stderr } = await append('1\n\n2\n{"a":\n5\n');
    expect(code).toBe(1);
    expect(stderr).toMatch(/^appended 2 events, 1…2\nledgerline: line 4 cannot be appended: .+\n$/);
    await close();
    expect((await run(['tail', session, '--data'])).stdout).toBe('1\n2\n');
  });

  it('says why the server refuses', async () => {
    await append('1');
    await close();
    const { code, stderr } = await append('2');
    expect(code).toBe(1);
    expect(stderr).toMatch(/^appended 0 events\nledgerline: .+ \(session_closed\)\n$/);
  });

  it('goes on behind what its producer has stored', async () => {
    expect((await append('1\n2', '--producer', 'p')).code).toBe(0);
    const { code, stderr } = await append('1\n2', '--producer', 'p');
    expect(code).toBe(0);
    expect(stderr).toContain('appended 2 events, 3…4');
  });

  it('stores what it has read when it is interrupted', async () => {
    const appending = start('append', session, '--type', 'text.delta');
    appending.write('1\n2\n');
    await eventually('both are stored', async () => (await describeSession()).head === 2);
    appending.signal('SIGINT');
    expect(await appending.exit).toBe(1);
    expect(appending.stderr()).toBe('appended 2 events, 1…2\nledgerline: interrupted before the end of the input\n');
  });
});

describe('tail', () => {
  it('prints the events as the history has them', async () => {
    await store(['1', '{"b":2}']);
    await end();
    const { stdout } = await run(['tail', session]);
    const answer = await fetch(`${gateway.publicUrl}/sessions/${session}/events`, {
      headers: { authorization: `Bearer ${gateway.token}` },
    });
    const history = await answer.text();
    expect(lines(stdout)).toHaveLength(2);
    for (const line of lines(stdout)) expect(history).toContain(line);
  });

  it('begins after a sequence, or now', async () => {
    await store(numbers(1, 3));
    const now = start('tail', session, '--after', 'head', '--data');
    const behind = start('tail', session, '--after', '2', '--data');
    await eventually('one has what was there', () => behind.stdout() === '3\n');
    await eventually('both are live', async () => (await subscribers()) === 2);
    await store(['4']);
    await end();
    expect([await now.exit, await behind.exit]).toEqual([0, 0]);
    expect([now.stdout(), behind.stdout()]).toEqual(['4\n', '3\n4\n']);
  });

  it('exits quietly when its reader has enough', async () => {
    await store(numbers(1, 50));
    const tail = start('tail', session, '--data');
    await eventually('something is out', () => tail.stdout().includes('1\n'));
    tail.closeOutput();
    await store(['51', '52']);
    expect(await tail.exit).toBe(0);
    expect(tail.stderr()).toBe('');
  });

  it('prints everything to a reader that takes its time', async () => {
    const big = JSON.stringify('x'.repeat(1_000));
    for (let part = 0; part < 3; part += 1) await store(Array.from({ length: 1_000 }, () => big));
    const tail = start('tail', session, '--data', '--until-end');
    tail.pauseOutput();
    await eventually('it follows', async () => (await subscribers()) === 1);
    await end();
    tail.resumeOutput();
    expect(await tail.exit, tail.stderr()).toBe(0);
    expect(lines(tail.stdout())).toHaveLength(3_000);
  });

  it('goes on through a server that is killed and one that drains, without a loss or a repeat [I3]', async () => {
    await store(numbers(1, 10));
    const tail = start('tail', session, '--data', '--until-end');
    await eventually('the first are out', () => lines(tail.stdout()).length === 10);
    await gateway.restart();
    await store(numbers(11, 20));
    await eventually('the next are out', () => lines(tail.stdout()).length === 20);
    expect(await gateway.terminate()).toBe(0);
    await gateway.restart();
    await store(numbers(21, 30));
    await end();
    expect(await tail.exit).toBe(0);
    expect(lines(tail.stdout())).toEqual(numbers(1, 30));
    expect(tail.stderr()).toContain('going on after 10');
    expect(tail.stderr()).toContain('the server is going away; going on after 20');
  });

  it('says what no time mends', async () => {
    const unknown = await run(['tail', 'no-such-session']);
    expect(unknown).toMatchObject({ code: 1, stdout: '' });
    expect(unknown.stderr).toMatch(/^ledgerline: there is no such session .+ \(404 session_unknown\)\n$/);
    await store(['1']);
    const stranger = await runCli(['tail', session], {
      folder: folder.path,
      environment: { LEDGERLINE_URL: gateway.publicUrl, LEDGERLINE_TOKEN: 'not-a-token' },
    });
    expect(stranger.code).toBe(1);
    expect(stranger.stderr).toContain('(401 unauthorized)');
  });

  it('ends when it is interrupted, which is a failure only if the end was asked for', async () => {
    await store(['1']);
    const either = [start('tail', session), start('tail', session, '--until-end')];
    await eventually('both are live', async () => (await subscribers()) === 2);
    for (const tail of either) tail.signal('SIGINT');
    expect(await Promise.all(either.map((tail) => tail.exit))).toEqual([0, 1]);
  });
});

describe('token', () => {
  it('mints what the server takes, and no more than was asked for', async () => {
    await store(['1']);
    const { code, stdout } = await runCli(['token', '--session', session], {
      folder: folder.path,
      environment: { LEDGERLINE_TOKEN_SECRET: gateway.secret },
    });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
    const headers = { authorization: `Bearer ${stdout.trim()}` };
    expect((await fetch(`${gateway.publicUrl}/sessions/${session}`, { headers })).status).toBe(200);
    expect((await fetch(`${gateway.publicUrl}/sessions/another`, { headers })).status).toBe(404);
    expect((await fetch(`${gateway.publicUrl}/sessions/${session}/close`, { method: 'POST', headers })).status).toBe(
      403,
    );
  });
});

interface Description {
  readonly head: number;
  readonly room: { readonly subscribers: number } | null;
}

/** Appends without the command line, in one request. */
async function store(payloads: readonly string[]): Promise<void> {
  await post('/sessions', JSON.stringify({ session }));
  await post(
    `/internal/sessions/${session}/events`,
    `{"events":[${payloads.map((data) => `{"type":"note","data":${data}}`).join()}]}`,
  );
}

const end = () => post(`/sessions/${session}/close`, '');

async function post(path: string, body: string): Promise<void> {
  const headers = { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' };
  const answer = await fetch(gateway.internalUrl + path, { method: 'POST', headers, body });
  if (!answer.ok) throw new Error(`${path} was answered ${answer.status}`);
}

async function describeSession(): Promise<Description> {
  const headers = { authorization: `Bearer ${gateway.key}` };
  return (await (await fetch(`${gateway.internalUrl}/sessions/${session}`, { headers })).json()) as Description;
}

const subscribers = async (): Promise<number> => (await describeSession()).room?.subscribers ?? 0;
