/** A gateway as an operator runs it: refuses what it cannot serve, drains when it is asked to, and exits with what happened. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { endAll, makeWorkingFolder, runCli, startCli } from '../support/cli.ts';
import { freshDatabase } from '../support/services.ts';
import { eventually } from '../support/waits.ts';

const folder = makeWorkingFolder();
afterEach(endAll);
afterAll(folder.remove);

const run = (commandLine: readonly string[], environment: Record<string, string> = {}) =>
  runCli(commandLine, { folder: folder.path, environment });

const secrets = { LEDGERLINE_TOKEN_SECRET: 't'.repeat(32), LEDGERLINE_INTERNAL_KEY: 'k'.repeat(32) };
const anyPorts = { LEDGERLINE_PUBLIC_HOST: '127.0.0.1', LEDGERLINE_PUBLIC_PORT: '0', LEDGERLINE_INTERNAL_PORT: '0' };

describe('migrate and serve', () => {
  let database: Awaited<ReturnType<typeof freshDatabase>>;
  beforeAll(async () => {
    database = await freshDatabase({ isEmpty: true });
  });
  afterAll(() => database.drop());

  it('serve refuses a database that is not up to date, and migrate brings it there', async () => {
    const refused = await run(['serve'], { DATABASE_URL: database.url, ...secrets });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/the database is at migration 0 and this release needs \d+: run ledgerline migrate/);
    expect(await run(['migrate'], { DATABASE_URL: database.url })).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^schema 0 → \d+\n$/),
    });
    expect(await run(['migrate'], { DATABASE_URL: database.url })).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^schema is at \d+ already\n$/),
    });
  });

  it('say so when Postgres is away', async () => {
    const { code, stderr } = await run(['migrate'], { DATABASE_URL: 'postgres://user:password@127.0.0.1:1/database' });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^ledgerline: Postgres is away/);
    expect(stderr).not.toContain('password');
  });
});

describe('serve', () => {
  let database: Awaited<ReturnType<typeof freshDatabase>>;
  beforeAll(async () => {
    database = await freshDatabase();
  });
  afterAll(() => database.drop());

  it('warns without a bus, serves, and drains on SIGTERM with its readers told to go', async () => {
    const cli = startCli(['serve'], {
      folder: folder.path,
      environment: { DATABASE_URL: database.url, ...secrets, ...anyPorts },
    });
    const { public: open, internal } = await eventually('the gateway serves', () => serving(cli.stderr()));
    expect(cli.stderr()).toContain('NATS_URL is not set');
    const headers = { authorization: `Bearer ${secrets.LEDGERLINE_INTERNAL_KEY}`, 'content-type': 'application/json' };
    await fetch(`${internal}/sessions`, { method: 'POST', headers, body: '{"session":"s1"}' });
    const stream = await fetch(`${internal}/sessions/s1/stream`, { headers });
    const page = await (await fetch(open, { headers: { accept: 'text/html' } })).text();
    expect(page).toContain('<!doctype html>');
    // What breaks things on request is for development servers alone.
    expect(page).not.toContain('ledgerline-lab');
    expect((await fetch(`${open}/lab`)).status).toBe(404);
    cli.signal('SIGTERM');
    const said = await stream.text();
    expect(said).toContain('event: goaway\n');
    expect(await cli.exit).toBe(0);
    expect(cli.stdout()).toBe('');
    expect(cli.stderr()).toContain('"stopped"');
  });

  it('names the port that is taken, and the variable that chooses another', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const { code, stderr } = await run(['serve'], {
      DATABASE_URL: database.url,
      ...secrets,
      ...anyPorts,
      LEDGERLINE_PUBLIC_PORT: String(port),
    });
    other.close();
    expect(code).toBe(1);
    expect(stderr).toContain(
      `ledgerline: port ${port} is taken by another process: choose another with LEDGERLINE_PUBLIC_PORT`,
    );
  });
});

interface Serving {
  readonly public: string;
  readonly internal: string;
}

/** The addresses, out of the log line that says so. */
function serving(log: string): Serving | undefined {
  const line = log.split('\n').find((text) => text.includes('"serving"'));
  return line === undefined ? undefined : (JSON.parse(line) as Serving);
}
