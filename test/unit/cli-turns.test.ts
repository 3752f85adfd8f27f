/** What an operator asks about turns, and what a terminal shows of the answers. */
import { createServer } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { run as runProgram } from '../../src/cli/program.ts';

interface Asked {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly credential: string | undefined;
  readonly body: string;
}

let server: Server;
let asked: Asked[];
let answer: { status: number; body: unknown };

beforeEach(async () => {
  asked = [];
  server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      asked.push({ method: request.method, path: request.url, credential: request.headers.authorization, body });
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(JSON.stringify(answer.body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

async function run(...commandLine: string[]) {
  let stdout = '';
  let stderr = '';
  const code = await runProgram(['node', 'ledgerline', 'turns', ...commandLine], {
    env: {
      LEDGERLINE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      LEDGERLINE_TOKEN: 'token',
    },
    folder: '.',
    input: Readable.from([]),
    output: {
      print: (text) => Promise.resolve(void (stdout += text)),
      note: (text) => void (stderr += `${text}\n`),
      isClosed: false,
    },
    stop: new AbortController().signal,
    clock: systemClock,
  });
  return { code, stdout, stderr };
}

const failed = {
  session: 'run-42',
  turn: '0b6c',
  attempt: 7,
  status: 'failed',
  state: 'idle',
  worker: null,
  tries: 3,
  maxAttempts: 3,
  since: '2026-11-30T04:00:00.000Z',
  error: { code: 'worker_lost', message: 'its\u001b[31m worker\nwas lost' },
};
const inDoubt = {
  ...failed,
  status: 'in_doubt',
  error: null,
  doubts: [
    { step: 2, tool: 'charge', effect: 'once' },
    { step: 3, tool: 'post', effect: 'keyed' },
  ],
};
const queued = { ...failed, session: 'r', turn: null, status: 'queued', tries: 0, maxAttempts: null, error: null };

describe('turns', () => {
  it('are a table, in which nothing speaks to the terminal', async () => {
    answer = { status: 200, body: { turns: [failed, queued] } };
    expect(await run()).toEqual({
      code: 0,
      stderr: '',
      stdout: [
        'SESSION  TURN  STATUS  SINCE                     TRIES  WORKER  ERROR',
        'run-42   0b6c  failed  2026-11-30T04:00:00.000Z  3/3    -       worker_lost: its [31m worker was lost',
        'r        -     queued  2026-11-30T04:00:00.000Z  0      -',
        '',
      ].join('\n'),
    });
    expect(asked).toEqual([
      { method: 'GET', path: '/turns?which=attention&limit=200', credential: 'Bearer token', body: '' },
    ]);
  });

  it('in doubt say with which steps a person must begin', async () => {
    const stopped = { ...inDoubt, error: failed.error, doubts: [inDoubt.doubts[0]] };
    answer = { status: 200, body: { turns: [inDoubt, stopped, { ...failed, doubts: [] }] } };
    const { stdout } = await run();
    expect(stdout.split('\n').map((line) => line.split('-       ')[1])).toEqual([
      undefined,
      'step 2 (charge, once) is in doubt; step 3 (post, keyed) is in doubt',
      'worker_lost: its [31m worker was lost; step 2 (charge, once) is in doubt',
      'worker_lost: its [31m worker was lost',
      undefined,
    ]);
  });

  it('in doubt whose steps are all resolved say how they go on', async () => {
    answer = { status: 200, body: { turns: [{ ...inDoubt, doubts: [] }] } };
    expect((await run()).stdout).toMatch(/ its steps are resolved: `ledgerline turns retry` has it go on\n$/);
  });

  it('are lines of JSON for programs, just as the server has them', async () => {
    answer = { status: 200, body: { turns: [failed, { ...queued, more: 1 }] } };
    const { stdout } = await run('--active', '--json');
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual([failed, { ...queued, more: 1 }]);
    expect(asked[0]?.path).toBe('/turns?which=active&limit=200');
  });

  it('that there are none of are said to be none, beside the output', async () => {
    answer = { status: 200, body: { turns: [] } };
    expect(await run()).toEqual({ code: 0, stdout: '', stderr: 'no turn needs a person\n' });
    expect(await run('--active', '--json')).toMatchObject({
      stdout: '',
      stderr: 'no turn is queued, running or waiting\n',
    });
  });

  it('beyond a page are not passed over in silence', async () => {
    answer = { status: 200, body: { turns: Array.from({ length: 200 }, () => failed) } };
    expect((await run('--json')).stderr).toBe('these are the first 200; there may be more\n');
  });

  it.each([
    [
      ['retry', 'run-42', '0b6c'],
      '/sessions/run-42/turns/0b6c/retry',
      '',
      { state: 'ready', turn: '0b6c', attempt: 7, stop: null },
      'run-42: the turn 0b6c is ready\n',
    ],
    [
      ['rerun', 'run-42', '0b6c'],
      '/sessions/run-42/turns/0b6c/rerun',
      '',
      { state: 'ready', turn: null, attempt: null, stop: null },
      'run-42: a new turn is ready\n',
    ],
    [
      ['rerun', 'run-42', '0b6c', '--force'],
      '/sessions/run-42/turns/0b6c/rerun',
      '{"force":true}',
      { state: 'ready', turn: null, attempt: null, stop: null },
      'run-42: a new turn is ready\n',
    ],
    [
      ['resolve', 'run-42', '0b6c', '2', '--done', '{"id":"ch_1"}', '--resume'],
      '/sessions/run-42/turns/0b6c/steps/2/resolve',
      '{"outcome":"done","result":{"id":"ch_1"},"deliveries":[],"resume":true}',
      {},
      'run-42: step 2 of 0b6c is resolved as done; the turn goes on, unless another of its steps is in doubt\n',
    ],
    [
      ['resolve', 'run-42', '0b6c', '0', '--done', '--deliver', 'a.b={"c":1}', '--deliver', 'd="e=f"'],
      '/sessions/run-42/turns/0b6c/steps/0/resolve',
      '{"outcome":"done","result":null,"deliveries":[{"topic":"a.b","payload":{"c":1}},{"topic":"d","payload":"e=f"}],"resume":false}',
      {},
      'run-42: step 0 of 0b6c is resolved as done; `ledgerline turns retry run-42 0b6c` has the turn go on\n',
    ],
    [
      ['resolve', 'run-42', '0b6c', '2', '--not-done'],
      '/sessions/run-42/turns/0b6c/steps/2/resolve',
      '{"outcome":"not_done","resume":false}',
      {},
      'run-42: step 2 of 0b6c is resolved as not done; `ledgerline turns retry run-42 0b6c` has the turn go on\n',
    ],
    [
      ['ack', 'run-42', '0b6c'],
      '/sessions/run-42/turns/0b6c/acknowledge',
      '',
      {},
      'run-42: the failure of 0b6c is acknowledged\n',
    ],
    [
      ['cancel', 'run-42', '0b6c'],
      '/sessions/run-42/stop',
      '{"turn":"0b6c"}',
      { stopping: true, stopped: false, state: 'running' },
      'run-42: the worker was asked to end the turn 0b6c\n',
    ],
    [
      ['cancel', 'run-42'],
      '/sessions/run-42/stop',
      '{}',
      { stopping: false, stopped: true, state: 'idle' },
      'run-42: the turn is cancelled\n',
    ],
  ])('are settled one by one: %j', async (commandLine, path, body, answered, note) => {
    answer = { status: 200, body: answered };
    expect(await run(...commandLine)).toEqual({ code: 0, stdout: '', stderr: note });
    expect(asked).toEqual([{ method: 'POST', path, credential: 'Bearer token', body }]);
  });

  it('that are over cannot be cancelled, and that is a failure', async () => {
    answer = { status: 200, body: { stopping: false, stopped: false, state: 'idle' } };
    expect(await run('cancel', 's1', 't1')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'ledgerline: nothing to cancel: the turn t1 is not queued or under way in s1 (idle)\n',
    });
    expect((await run('cancel', 's1')).stderr).toBe(
      'ledgerline: nothing to cancel: no turn is queued or under way in s1 (idle)\n',
    );
  });

  it.each([
    [['2'], 'say what became of the step: --done, with its result if it has one, or --not-done'],
    [['2', '--not-done', '--done'], "option '--not-done' cannot be used with option '--done [json]'"],
    [['2', '--not-done', '--deliver', 'a=1'], 'what did not happen has nothing to deliver: leave --deliver out'],
    [['2', '--done', 're_1'], 'It is JSON, in which a text has quotes'],
    [['2', '--done', '--deliver', 'a'], 'It is a topic and JSON'],
    [['2', '--done', '--deliver', 'a b=1'], 'It is a topic and JSON'],
    [['2', '--done', '--deliver', 'a=b'], 'It is JSON, in which a text has quotes'],
    [['x', '--done'], 'It is the index of a step, from 0'],
    [['-1', '--done'], 'It is the index of a step, from 0'],
  ])('are not resolved by %j', async (commandLine, said) => {
    const { code, stdout, stderr } = await run('resolve', 'run-42', '0b6c', ...commandLine);
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(said)]);
    expect(asked).toEqual([]);
  });

  it('tell of a refusal in the server’s own words', async () => {
    answer = {
      status: 409,
      body: { type: 'urn:ledgerline:problem:turn_busy', detail: 'another turn is under way' },
    };
    expect(await run('retry', 's1', 't1')).toMatchObject({
      code: 1,
      stderr: 'ledgerline: another turn is under way (409 turn_busy)\n',
    });
  });

  it('say so when the answer is not Ledgerline’s', async () => {
    answer = { status: 200, body: { hello: 1 } };
    for (const commandLine of [[], ['retry', 's1', 't1'], ['cancel', 's1']]) {
      const { code, stderr } = await run(...commandLine);
      expect([code, stderr]).toEqual([
        1,
        expect.stringMatching(/^ledgerline: http:.* answered, and not as Ledgerline/),
      ]);
    }
  });
});
