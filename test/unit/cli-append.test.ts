/** Commands that ask a server one thing: they stop when they are told to, and know an answer that is not Ledgerline's. */
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { run as runProgram } from '../../src/cli/program.ts';

let server: Server;
let answer: (response: ServerResponse, request: IncomingMessage) => void;
let stopping: AbortController;
/** Standard input that stays open, and is silent unless the test says something. */
let input: Readable;

beforeEach(async () => {
  stopping = new AbortController();
  input = new Readable({ read: () => undefined });
  server = createServer((request, response) => answer(response, request));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

async function run(...commandLine: string[]) {
  let stderr = '';
  const code = await runProgram(['node', 'ledgerline', ...commandLine], {
    env: {
      LEDGERLINE_INTERNAL_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      LEDGERLINE_KEY: 'key',
    },
    folder: '.',
    input,
    output: { print: () => Promise.resolve(), note: (text) => void (stderr += `${text}\n`), isClosed: false },
    stop: stopping.signal,
    clock: systemClock,
  });
  return { code, stderr };
}

const commands = [['close', 's1'], ['append', 's1', '--type', 'note'], ['sessions']];

it.each(commands)('%s stops when it is told to, though the server says nothing', async (...commandLine) => {
  answer = () => stopping.abort();
  expect(await run(...commandLine)).toEqual({
    code: 1,
    stderr: 'ledgerline: interrupted before the server answered\n',
  });
});

it('append reads no input when it was told to stop before', async () => {
  answer = (response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"session":"s1","head":0}');
    stopping.abort();
  };
  const { code, stderr } = await run('append', 's1', '--type', 'note');
  expect(code).toBe(1);
  expect(stderr).toMatch(/ledgerline: interrupted before /);
});

it('append ends when its lines are refused, and waits for no further one', async () => {
  answer = (response, request) => {
    const isCreation = request.url === '/sessions';
    response
      .writeHead(isCreation ? 200 : 409, { 'content-type': 'application/json' })
      .end(
        JSON.stringify(
          isCreation
            ? { session: 's1', head: 0 }
            : { type: 'urn:ledgerline:problem:session_closed', detail: 'the session is closed' },
        ),
      );
  };
  input.push('{"text":"hello"}\n');
  expect(await run('append', 's1', '--type', 'note')).toEqual({
    code: 1,
    stderr: 'appended 0 events\nledgerline: the session is closed (session_closed)\n',
  });
});

it.each(commands)('%s says so when the address is not Ledgerline’s', async (...commandLine) => {
  answer = (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>hello</p>');
  const { code, stderr } = await run(...commandLine);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^ledgerline: http:.* answered 200, and not as Ledgerline does\n$/);
});
