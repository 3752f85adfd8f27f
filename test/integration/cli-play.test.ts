/** Recorded runs become sessions again, go on where they stopped, and sessions are listed. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { run as runProgram } from '../../src/cli/program.ts';
import { makeWorkingFolder } from '../support/cli.ts';
import { freshId } from '../support/deployment.ts';
import { call, createSession } from '../support/gateway-calls.ts';
import { startInProcessGateway } from '../support/in-process-gateway.ts';
import type { InProcessGateway } from '../support/in-process-gateway.ts';
import { countTo } from '../support/ledger.ts';
import { eventually } from '../support/waits.ts';

let gateway: InProcessGateway;
let folder: ReturnType<typeof makeWorkingFolder>;
beforeAll(async () => {
  gateway = await startInProcessGateway();
  folder = makeWorkingFolder();
});
afterAll(async () => {
  folder.remove();
  await gateway.stop();
});

interface Options {
  readonly input?: string;
  readonly stop?: AbortSignal;
}

async function run(commandLine: readonly string[], { input = '', stop }: Options = {}) {
  let stdout = '';
  let stderr = '';
  const code = await runProgram(['node', 'ledgerline', ...commandLine], {
    env: { LEDGERLINE_INTERNAL_URL: gateway.internalUrl, LEDGERLINE_KEY: gateway.key },
    folder: folder.path,
    input: Readable.from(input === '' ? [] : [Buffer.from(input)]),
    output: {
      print: (text) => Promise.resolve(void (stdout += text)),
      note: (text) => void (stderr += `${text}\n`),
      isClosed: false,
    },
    stop: stop ?? new AbortController().signal,
    clock: systemClock,
  });
  return { code, stdout, stderr };
}

const record = (lines: readonly string[]): string => {
  const path = join(folder.path, `${freshId()}.ndjson`);
  writeFileSync(path, lines.map((line) => `${line}\n`).join(''));
  return path;
};
const playing = (file: string, session: string) => ['play', file, '--session', session, '--type', 'note'];

async function stored(session: string): Promise<unknown[]> {
  const { text } = await call(gateway, 'GET', `/sessions/${session}/events?limit=1000`);
  return (JSON.parse(text) as { events: { data: unknown }[] }).events.map(({ data }) => data);
}

it('play appends every line of a file, or of standard input, in order, as it is', async () => {
  const session = freshId();
  const played = { code: 0, stdout: '', stderr: 'played 3 events, up to sequence 3\n' };
  expect(await run(playing(record(['{"n":9007199254740993}', '', '2', '"three"']), session))).toEqual(played);
  const { text } = await call(gateway, 'GET', `/sessions/${session}/events`);
  expect(text).toContain('"data":{"n":9007199254740993}}');
  expect(await run(playing('-', freshId()), { input: '1\n2\n3\n' })).toEqual(played);
});

it('play names the line that cannot be appended; what stands before it is stored', async () => {
  const session = freshId();
  const { code, stderr } = await run(playing(record(['1', '', 'nothing', '4']), session));
  expect(code).toBe(1);
  expect(stderr).toMatch(/^played 1 event, up to sequence 1\nledgerline: line 3 cannot be appended: .*JSON/);
  expect(await stored(session)).toEqual([1]);
  const nowhere = await run(playing(join(folder.path, 'nowhere'), session));
  expect(nowhere.code).toBe(2);
  expect(nowhere.stderr).toContain('the recording cannot be read');
});

it('play ends when its session is closed, and says so', async () => {
  const session = freshId();
  await createSession(gateway, session);
  await call(gateway, 'POST', `/sessions/${session}/close`);
  const { code, stderr } = await run(playing(record(['1', '2']), session));
  expect(code).toBe(1);
  expect(stderr).toMatch(/^played 0 events\nledgerline: .*closed.* \(session_closed\)\n$/);
});

it('play is interrupted between two events, and the same command goes on there', async () => {
  const session = freshId();
  const file = record(countTo(40).map(String));
  await createSession(gateway, session);
  const stopping = new AbortController();
  const slow = run([...playing(file, session), '--producer', 'run', '--rate', '20'], { stop: stopping.signal });
  await eventually('it is under way', async () => (await stored(session)).length >= 3);
  stopping.abort();
  const { code, stderr } = await slow;
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /^played (\d+) events, up to sequence \1\nthe same command goes on behind \1 events\nledgerline: interrupted before the end of the input\n$/,
  );
  const before = (await stored(session)).length;
  expect(await run([...playing(file, session), '--producer', 'run'])).toEqual({
    code: 0,
    stdout: '',
    stderr: `goes on behind ${before} events that are stored\nplayed ${40 - before} events, up to sequence 40\n`,
  });
  expect(await stored(session)).toEqual(countTo(40));
  const other = await run([...playing(record(['1']), session), '--producer', 'run']);
  expect(other.stderr).toContain('40 events are stored, and the file has only 1: is it another run?');
});

it('append goes on behind what a producer of its name has stored', async () => {
  const session = freshId();
  const append = (input: string) => run(['append', session, '--type', 'note', '--producer', 'agent'], { input });
  expect(await append('1\n2\n')).toMatchObject({ code: 0, stderr: 'appended 2 events, 1…2\n' });
  expect(await append('3\n')).toMatchObject({ code: 0, stderr: 'appended 1 event, 3…3\n' });
  expect(await stored(session)).toEqual([1, 2, 3]);
});

it('sessions lists them, the latest first, page by page', async () => {
  const ids = ['list-1', 'list-2', 'list-3'];
  for (const id of ids) await run(playing(record(['1', '2']), id));
  const first = await run(['sessions', '--limit', '2']);
  expect(first.code).toBe(0);
  expect(first.stdout).toMatch(/^SESSION +EVENTS +STATE +AGENT +LAST ACTIVITY\nlist-3 +2 +open +idle +2/);
  const [, after = ''] = /--after (\S+),/.exec(first.stderr) ?? [];
  const second = await run(['sessions', '--limit', '2', '--after', after, '--json']);
  expect(JSON.parse(second.stdout.split('\n')[0] ?? '')).toMatchObject({ session: 'list-1', head: 2 });
  const all = await run(['sessions', '--all']);
  expect(all.stderr).toBe('');
  expect(all.stdout.match(/^SESSION/gm)).toHaveLength(1);
  for (const id of ids) expect(all.stdout).toContain(`${id} `);
});
