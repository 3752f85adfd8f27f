/** Whoever uses the command line wrongly is told what was wrong and what to do, and 2 is the exit code. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { run as runProgram } from '../../src/cli/program.ts';

const folder = mkdtempSync(join(tmpdir(), 'ledgerline-usage-'));
afterAll(() => rmSync(folder, { recursive: true }));

async function run(commandLine: readonly string[], env: Record<string, string> = {}) {
  let stdout = '';
  let stderr = '';
  const code = await runProgram(['node', 'ledgerline', ...commandLine], {
    env,
    folder,
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

describe('the command line', () => {
  const commands =
    'dev serve worker relay migrate doctor append play tail close sessions turns deliveries token entries';
  it.each(commands.split(' '))('helps with %s, with an example', async (command) => {
    const { code, stdout, stderr } = await run([command, '--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(new RegExp(`Usage: ledgerline ${command}`));
    expect(stdout).toMatch(new RegExp(`Examples?:[^]*ledgerline ${command}`));
  });

  it('says what a token is when nothing is asked for', async () => {
    const { stdout } = await run(['token', '--help']);
    expect([...stdout.matchAll(/\(default:\s([^)]*)\)/g)].map(([, text]) => text?.replaceAll(/\s+/g, ' '))).toEqual([
      '*, all of them',
      'read',
      '1h',
      '"cli"',
    ]);
  });

  it('prints its version', async () => {
    expect(await run(['--version'])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
  });

  it.each([
    [['tial', 'demo'], "unknown command 'tial'"],
    [['tail'], "missing required argument 'session'"],
    [['tail', 'a.b'], 'a session id is 1 to 128'],
    [['tail', 'demo', '--after', '007'], 'It is a sequence such as 120, or "head"'],
    [['append', 'demo'], "required option '-t, --type <type>' not specified"],
    [['append', 'demo', '--type', 'Upper'], 'an event type is 1 to 64'],
    [['play', 'run.ndjson', '--type', 'note'], "required option '-s, --session <id>' not specified"],
    [['play', 'run.ndjson', '--session', 's', '--type', 'note', '--rate', '0'], 'It is a number of events a second'],
    [['sessions', '--limit', '201'], 'It is a number from 1 to 200'],
    [['turns', 'rerun', 'demo'], "missing required argument 'turn'"],
    [['turns', 'retry', 'demo', 'a b'], 'a turn id is 1 to 128'],
    [['turns', 'mend', 'demo', 't1'], "too many arguments for 'turns'"],
    [['deliveries', 'skip', 'demo'], "missing required argument 'number'"],
    [['deliveries', 'redrive', 'demo', '0'], 'It is the number of a delivery, from 1'],
    [['relay', '--port', 'x'], 'It is a port: 0 to 65535'],
    [['worker'], "missing required argument 'file'"],
    [['worker', 'agent.js', '--concurrency', '0'], 'It is a whole number from 1 to 1000'],
    [['worker', 'agent.js', '--name', 'two words'], 'It is 1 to 128 visible characters without spaces'],
    [['dev', '--port', '65536'], 'It is a port: 0 to 65535'],
    [['doctor', 'ftp://events.test'], 'It is not an address, such as'],
    [['doctor', '--origin', 'https://app.test/path'], 'something that is not an origin'],
    [['doctor', '--session', 'a.b'], 'a session id is 1 to 128'],
    [['token', '--ttl', 'soon'], 'a number and s, m, h or d'],
    [['token', '--scope', 'all'], 'one or more of read, send, write, create'],
    [['token', '--scope', ''], 'one or more of read, send, write, create'],
    [['token', '--subject', ''], 'a subject is 1 to 256 characters'],
    [['token', '--subject', 'a'.repeat(257)], 'a subject is 1 to 256 characters'],
    [['token', '--session', 'a.*'], 'a prefix followed by *'],
  ])('refuses %j', async (commandLine, message) => {
    const { code, stdout, stderr } = await run(commandLine);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(message);
    expect(stderr.startsWith('ledgerline: ')).toBe(true);
    expect(stderr).not.toMatch(/\n\s+at /);
  });

  it.each([
    [['tail', 'demo'], 'or run this in the folder of a running `ledgerline dev`'],
    [['append', 'demo', '--type', 'note'], 'set LEDGERLINE_URL and LEDGERLINE_TOKEN'],
    [['token'], 'set LEDGERLINE_TOKEN_SECRET'],
    [['migrate'], 'DATABASE_URL is missing'],
    [['serve'], 'LEDGERLINE_INTERNAL_KEY is missing'],
    [['doctor'], 'no address to look at: name it'],
    [['worker', 'agent.js'], 'DATABASE_URL is missing'],
    [['relay'], 'NATS_URL is missing'],
    [['deliveries'], 'DATABASE_URL is missing'],
    [['deliveries', 'reconcile'], 'NATS_URL is missing'],
  ])('says what %j needs where nothing is set', async (commandLine, message) => {
    const { code, stderr } = await run(commandLine);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });

  it('never takes half of a server from the environment and half from the folder', async () => {
    const { code, stderr } = await run(['append', 'demo', '--type', 'note'], {
      LEDGERLINE_URL: 'http://127.0.0.1:1',
      LEDGERLINE_TOKEN: 'token',
    });
    expect(code).toBe(2);
    expect(stderr).toContain('this command needs LEDGERLINE_INTERNAL_URL and LEDGERLINE_KEY');
  });

  it('says where nobody answers', async () => {
    const { code, stderr } = await run(['close', 'demo'], {
      LEDGERLINE_URL: 'http://127.0.0.1:1',
      LEDGERLINE_TOKEN: 'token',
    });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^ledgerline: no answer from http:\/\/127\.0\.0\.1:1 \(.+\): is the server running there\?\n$/,
    );
  });
});
