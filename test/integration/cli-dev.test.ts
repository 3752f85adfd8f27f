/** `ledgerline dev` needs nothing, says where it is, keeps its word across restarts, and leaves nothing running. */
import { once } from 'node:events';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { endAll, makeWorkingFolder, runCli, startCli } from '../support/cli.ts';
import type { Cli } from '../support/cli.ts';
import { createSession } from '../support/gateway-calls.ts';
import { freshDatabase } from '../support/services.ts';
import { readStream } from '../support/sse-reader.ts';
import { workingFolder } from '../support/stage.ts';
import { eventually } from '../support/waits.ts';
import { range } from '../support/world.ts';

interface Server {
  readonly public: string;
  readonly internal: string;
  readonly token: string;
  readonly key: string;
  readonly page: string;
}

// One folder for all, since a database is made anew in each.
const folder = makeWorkingFolder();
afterEach(async () => {
  await endAll();
  await eventually('no Postgres is left', () => !isPostgresThere());
});
afterAll(folder.remove);

/** The first start makes a database. */
const START_DEADLINE_MS = 50_000;

const inData = (...names: string[]): string => join(folder.path, '.ledgerline', ...names);
const isPostgresThere = (): boolean => existsSync(inData('postgres', 'cluster', 'data', 'postmaster.pid'));
const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

function dev(...options: string[]): Cli {
  return startCli(['dev', '--port', '0', '--internal-port', '0', '--json', ...options], { folder: folder.path });
}

/** The first line on standard output. */
function addressOf(cli: Cli): Promise<Server> {
  const firstLine = () => {
    const end = cli.stdout().indexOf('\n');
    return end < 0 ? undefined : (JSON.parse(cli.stdout().slice(0, end)) as Server);
  };
  return eventually('the development server says where it is', firstLine, START_DEADLINE_MS);
}

async function firstBytes(url: string, token: string): Promise<string> {
  const stopping = new AbortController();
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` }, signal: stopping.signal });
  let text = '';
  const decoder = new TextDecoder();
  for await (const bytes of response.body!) {
    text += decoder.decode(bytes, { stream: true });
    if (text.includes('"sequence":5,')) break;
  }
  stopping.abort();
  return text;
}

describe('the development server', () => {
  it('starts with nothing, plays the demo, and says how to reach it in its first line', async () => {
    const cli = dev();
    const server = await addressOf(cli);
    expect(Object.keys(server)).toEqual(['public', 'internal', 'token', 'key', 'page', 'database']);
    expect(server.page).toBe(`${server.public}/?session=demo#token=${server.token}`);
    expect(JSON.parse(readFileSync(inData('dev.json'), 'utf8'))).toEqual(server);
    expect([modeOf(inData('dev.json')), modeOf(inData('secrets.json'))]).toEqual(['600', '600']);
    const played = await firstBytes(`${server.public}/sessions/demo/stream`, server.token);
    expect(played).toContain('"type":"message.created"');
    expect(played).toContain('"type":"reasoning.delta"');
    cli.signal('SIGINT');
    expect(await cli.exit).toBe(0);
    expect(cli.stderr()).toBe('');
    expect(cli.stdout().split('\n')).toHaveLength(2);
    expect([isPostgresThere(), existsSync(inData('dev.json'))]).toEqual([false, false]);
  });

  it('leaves messages to a worker that is started in its folder with nothing set', async () => {
    const cli = dev('--no-agent');
    const { public: url, token } = await addressOf(cli);
    const library = new URL('../../dist/worker/define-agent.js', import.meta.url).href;
    const agent = `import { defineAgent } from ${JSON.stringify(library)};
      export default defineAgent({ name: 'mine', run: async () => [{ type: 'note', data: 'mine' }] });`;
    writeFileSync(join(folder.path, 'agent.mjs'), agent);
    startCli(['worker', 'agent.mjs'], { folder: folder.path });
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const post = (path: string, body: object) =>
      fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    await post('/sessions', { session: 's1' });
    await post('/sessions/s1/messages', { key: 'k1', content: 'hello' });
    await eventually('it answers', async () => {
      const answer = await fetch(`${url}/sessions/s1/events`, { headers });
      return (await answer.text()).includes('"data":"mine"');
    });
  });

  it('keeps its data and its secrets, so that a restart ends no token', async () => {
    const first = dev('--no-demo');
    const { internal, key, token } = await addressOf(first);
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    await fetch(`${internal}/sessions`, { method: 'POST', headers, body: '{"session":"kept"}' });
    first.signal('SIGTERM');
    expect(await first.exit).toBe(0);
    const again = await addressOf(dev('--no-demo'));
    expect(again.key).toBe(key);
    const answer = await fetch(`${again.public}/sessions/kept`, { headers: { authorization: `Bearer ${token}` } });
    expect(answer.status).toBe(200);
  });

  it('starts again after it was killed, and is told apart from one that runs', async () => {
    const killed = dev('--no-demo');
    await addressOf(killed);
    killed.signal('SIGKILL');
    expect(await killed.exit).toBe(137);
    await addressOf(dev('--no-demo'));
    const second = await runCli(['dev', '--port', '0', '--internal-port', '0'], { folder: folder.path });
    expect(second).toMatchObject({ code: 1, stdout: '' });
    expect(second.stderr).toMatch(
      /^ledgerline: a development server is running in .+\.ledgerline already: stop it, or .+--data\n$/,
    );
  });

  it('names the port that is taken and the option that chooses another, and leaves no Postgres', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const port = String((other.address() as AddressInfo).port);
    const taken = await runCli(['dev', '--port', port, '--internal-port', '0'], { folder: folder.path });
    expect(taken).toMatchObject({ code: 1, stdout: '' });
    expect(taken.stderr).toBe(`ledgerline: port ${port} is taken by another process: choose another with --port\n`);
    const internal = await runCli(['dev', '--port', '0', '--internal-port', port], { folder: folder.path });
    expect(internal.stderr).toContain('choose another with --internal-port');
    other.close();
    expect(isPostgresThere()).toBe(false);
  });

  it('ends at once on the second signal, and Postgres with it', async () => {
    const cli = dev('--no-demo');
    const server = await addressOf(cli);
    const socket = await unendingRequest(server);
    cli.signal('SIGINT');
    await eventually('it drains', () => refuses(server.internal));
    cli.signal('SIGINT');
    expect(await cli.exit).toBe(1);
    socket.destroy();
    await eventually('Postgres is gone', () => !isPostgresThere());
  });

  it('takes a database that it is given, and needs no Postgres of its own', async () => {
    const database = await freshDatabase({ isEmpty: true });
    const other = makeWorkingFolder();
    const cli = startCli(['dev', '--port', '0', '--internal-port', '0', '--no-demo'], {
      folder: other.path,
      environment: { DATABASE_URL: database.url },
    });
    await eventually('it greets', () => cli.stdout().includes('Ledgerline is running'), START_DEADLINE_MS);
    // The first address is the one to open; without a demo it names no session.
    expect(/http:\S+/.exec(cli.stdout())?.[0]).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#token=[\w-]+\.[\w-]+\.[\w-]+$/);
    expect(existsSync(join(other.path, '.ledgerline', 'secrets.json'))).toBe(true);
    expect(existsSync(join(other.path, '.ledgerline', 'postgres'))).toBe(false);
    cli.signal('SIGTERM');
    expect(await cli.exit).toBe(0);
    await database.drop();
    other.remove();
  });
});

describe('the development server’s lab', () => {
  it('is told to the page that opens by the address', async () => {
    const { page } = await addressOf(dev('--no-demo'));
    const answer = await fetch(page, { headers: { accept: 'text/html' } });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    const html = await answer.text();
    expect(html).toContain('<meta name="ledgerline-lab" content="on" />');
    const script = /src="(\/assets\/[^"]+)"/.exec(html)?.[1] ?? '';
    const answered = await fetch(new URL(script, page));
    expect([answered.status, answered.headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8']);
  });

  it('restarts the gateway on its ports: a reader resumes, the demo plays on, and what the lab knows stays', async () => {
    // Of its own, for here the demo must play at once: an earlier server may have left a turn to be waited for.
    const database = await freshDatabase({ isEmpty: true });
    onTestFinished(() => database.drop());
    const cli = startCli(['dev', '--port', '0', '--internal-port', '0', '--json'], {
      folder: workingFolder(),
      environment: { DATABASE_URL: database.url },
    });
    const server = await addressOf(cli);
    const headers = { authorization: `Bearer ${server.token}` };
    const stream = `${server.public}/sessions/demo/stream`;
    const before = await readStream(stream, headers);
    await before.events(3);
    await lab(server, '/head-check', { isPaused: true });
    await lab(server, '/faults', { fault: 'drop_next', session: 'demo' });
    const marks = () => lab(server, '/sessions/demo/marks') as Promise<{ marks: { kind: string }[] }>;
    await eventually('a broadcast is lost', async () => (await marks()).marks.length > 0);
    await lab(server, '/faults', { fault: 'restart_gateway', session: 'demo' });
    await before.ended();
    const goaway = await before.frame('goaway');
    const after = await eventually('the gateway is back', () =>
      readStream(stream, { ...headers, 'last-event-id': goaway.id ?? '' }),
    );
    const next = await after.events(20);
    const first = Number(goaway.id) + 1;
    expect(next.slice(0, 20).map(({ id }) => Number(id))).toEqual(range(first, first + 19));
    expect(await lab(server, '')).toMatchObject({ isHeadCheckPaused: true });
    expect((await marks()).marks).toContainEqual(expect.objectContaining({ kind: 'lost' }));
    expect((await fetch(`${server.internal}/readyz`)).status).toBe(200);
    await after.close();
    cli.signal('SIGINT');
    expect(await cli.exit).toBe(0);
    expect(cli.stderr()).toBe('');
  });

  it('ends in the middle of a restart, and leaves nothing', async () => {
    const cli = dev('--no-demo');
    const server = await addressOf(cli);
    await createSession({ internalUrl: server.internal, key: server.key }, 'held');
    const socket = await unendingRequest(server);
    await lab(server, '/faults', { fault: 'restart_gateway', session: 'held' });
    await eventually('it drains', () => refuses(server.internal));
    cli.signal('SIGINT');
    socket.destroy();
    expect(await cli.exit).toBe(0);
    expect(cli.stderr()).toBe('');
    expect([await refuses(server.public), await refuses(server.internal)]).toEqual([true, true]);
    expect([isPostgresThere(), existsSync(inData('dev.json'))]).toEqual([false, false]);
  });
});

async function lab({ public: url, token }: Server, path: string, body?: object): Promise<unknown> {
  const answer = await fetch(`${url}/lab${path}`, {
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`the lab answered ${answer.status}: ${await answer.text()}`);
  return answer.json();
}

/** A request whose body never ends is what a drain waits for. */
async function unendingRequest({ internal, key }: Server): Promise<Socket> {
  const { hostname, port } = new URL(internal);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  socket.write(
    `POST /sessions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{`,
  );
  await eventually('the request is in flight', async () => (await inFlight(internal)) > 1);
  return socket;
}

/** Connections that the process has open: what is in flight, and the one that asks. */
async function inFlight(internal: string): Promise<number> {
  const metrics = await (await fetch(`${internal}/metrics`)).text();
  return Number(/nodejs_active_resources\{type="TCPSocketWrap"\} (\d+)/.exec(metrics)?.[1] ?? 0);
}

async function refuses(url: string): Promise<boolean> {
  return fetch(url).then(
    () => false,
    () => true,
  );
}
