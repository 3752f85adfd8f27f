/** The files of docs/examples do what their table says, as they are. */
import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { freePort } from '../../src/db/postgres-process.ts';
import { exampleFiles, readExample, startExample } from '../support/example-files.ts';
import { call, closeSession } from '../support/gateway-calls.ts';
import { type InProcessGateway, startInProcessGateway } from '../support/in-process-gateway.ts';
import { startProxy } from '../support/example-proxies.ts';
import { freshDatabase } from '../support/services.ts';
import { appendNumbers, newSession } from '../support/session-calls.ts';
import { readStream } from '../support/sse-reader.ts';
import { eventually } from '../support/waits.ts';

const SECRET = 'a secret of the tests, long enough for HS256';
const KEY = 'a-key-of-the-tests-that-is-long-enough';
const root = fileURLToPath(new URL('../..', import.meta.url));

let gateway: InProcessGateway;
let environment: Readonly<Record<string, string>>;
beforeAll(async () => {
  gateway = await startInProcessGateway();
  environment = {
    LEDGERLINE_URL: gateway.publicUrl,
    LEDGERLINE_INTERNAL_URL: gateway.internalUrl,
    LEDGERLINE_TOKEN: await gateway.token(),
    LEDGERLINE_KEY: gateway.key,
    LEDGERLINE_TOKEN_SECRET: SECRET,
    PYTHONPATH: join(root, 'docs/clients/python'),
    PASSWORD: 'a password',
  };
});
afterAll(() => gateway?.stop());

let count = 0;
const freshName = (): string => `example-${(count += 1)}`;
const start = (words: readonly string[], more: Readonly<Record<string, string>> = {}) =>
  startExample(words, { ...environment, ...more });

interface Envelope {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

async function storedIn(session: string): Promise<readonly Envelope[]> {
  const { text } = await call(gateway, 'GET', `/sessions/${session}/events?limit=1000`);
  return (JSON.parse(text) as { events: Envelope[] }).events;
}
const stateFor = (token: string, session: string): Promise<Response> =>
  fetch(`${gateway.publicUrl}/sessions/${session}`, { headers: { authorization: `Bearer ${token.trim()}` } });

test('every file stands in the table, and the table names no other', () => {
  const [, table = ''] = /\n(\| file [^]+?)\n\n/.exec(readExample('README.md')) ?? [];
  const named = [...table.matchAll(/\[([\w.-]+)\]\(\1\)/g)].map(([, name]) => String(name));
  expect([...named, 'README.md'].toSorted()).toEqual(exampleFiles());
  const commands = [...table.matchAll(/docs\/examples\/([\w.-]+)/g)].map(([, name]) => String(name));
  expect(commands.filter((name) => !named.includes(name))).toEqual([]);
});

test('curl.sh creates, appends, streams lines, and follows to the end, also when all of it is there already', async () => {
  const session = freshName();
  for (const stored of [4, 8]) {
    const curl = start(['sh', 'docs/examples/curl.sh', session]);
    await eventually('it follows', () => curl.stdout().includes(`\nid: ${stored}\n`));
    expect(curl.stdout()).toContain(`"last":${stored},"counter":3}\n{"end":"complete"}\n`);
    if (stored === 8) await closeSession(gateway, session);
    else curl.signal('SIGINT');
    if (stored === 8) expect(await curl.printed).toContain('event: end\n');
  }
  const data = [{ text: 'hello' }, { count: 1 }, { count: 2 }, { count: 3 }];
  expect((await storedIn(session)).map((event) => event.data)).toEqual([...data, ...data]);
});

const said = ['Number your events, ', 'and you can afford ', 'to lose them on the wire.'];
const answer = [...said.map((text) => ['text.delta', text]), ['message.completed', said.join('')]];
const textsOf = (events: readonly Envelope[]) =>
  events.map(({ type, data }) => [type, data['text'] ?? data['content']]);

test('agent.mjs stores its answer', async () => {
  const session = freshName();
  expect(await start(['node', 'docs/examples/agent.mjs', session]).printed).toBe('stored, up to 4\n');
  expect(textsOf(await storedIn(session))).toEqual(answer);
});

test('agent.py stores its answer, and reads it to the end', async () => {
  const session = freshName();
  const python = start(['python3', '-W', 'error', 'docs/examples/agent.py', session]);
  await eventually('it reads', () => python.stdout().includes('\n4 '));
  await closeSession(gateway, session);
  expect((await python.printed).trim().split('\n')).toHaveLength(4);
  expect(textsOf(await storedIn(session))).toEqual(answer);
});

test.each([
  ['node', 'mint-token.mjs'],
  ['python3', 'mint_token.py'],
])('%s %s prints a token for one session, to read it', async (command, name) => {
  const [session, other] = [await newSession(gateway), await newSession(gateway)];
  const token = await start([command, `docs/examples/${name}`, session]).printed;
  expect((await stateFor(token, session)).status).toBe(200);
  expect((await stateFor(token, other)).status).toBe(404);
  const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Record<string, number>;
  expect(claims).toMatchObject({ sub: 'maya', scope: 'read' });
  expect(Number(claims['exp']) - Number(claims['iat'])).toBe(3_600);
});

test('server.mjs serves inside its own process, migrates, and ends by itself when it is told to', async () => {
  const database = await freshDatabase({ isEmpty: true });
  onTestFinished(() => database.drop());
  const own = start(['node', 'docs/examples/server.mjs'], {
    DATABASE_URL: database.url,
    LEDGERLINE_INTERNAL_KEY: KEY,
    PORT: '0',
  });
  const [, publicUrl = '', internalUrl = ''] = await eventually('it serves', () =>
    /readers: (\S+) {2}producers: (\S+)\n/.exec(own.stdout()),
  );
  const session = await newSession({ internalUrl, key: KEY }, 3);
  const headers = { authorization: `Bearer ${await gateway.token()}` };
  const events = await fetch(`${publicUrl.replace('0.0.0.0', '127.0.0.1')}/sessions/${session}/events`, { headers });
  expect(await events.json()).toMatchObject({ head: 3 });
  own.signal('SIGTERM');
  await own.printed;
});

describe('a back end', () => {
  const signedIn = { authorization: `Basic ${btoa('maya:a password')}` };

  test('in Hono sends the messages of who is signed in, and of nobody else', async () => {
    const hono = start(['node', 'docs/examples/hono.mjs'], { PORT: String(await freePort()) });
    const [url = ''] = await eventually('it serves', () => /http:\S+/.exec(hono.stdout()));
    const post = (headers: Readonly<Record<string, string>>) =>
      fetch(`${url}/messages`, { method: 'POST', headers, body: JSON.stringify({ key: 'k', content: 'Hello' }) });
    expect((await fetch(url)).status).toBe(401);
    expect((await post({ 'content-type': 'application/json' })).status).toBe(401);
    expect((await fetch(url, { headers: signedIn })).status).toBe(200);
    const json = { ...signedIn, 'content-type': 'application/json' };
    expect([(await post(json)).status, (await post(json)).status]).toEqual([201, 200]);
    // a form of another site
    expect((await post({ ...signedIn, 'content-type': 'text/plain', origin: 'https://evil.test' })).status).toBe(403);
    expect(await storedIn('chat-maya')).toMatchObject([{ data: { content: 'Hello', by: 'maya' } }]);
  });

  test('in Next.js gives a token for the user’s own sessions, and sends their messages', async () => {
    const session = freshName();
    const body = JSON.stringify({ key: 'k', content: 'Hello' });
    const answers = await askNextRoute(session, [
      { method: 'GET' },
      { method: 'POST', body },
      { method: 'POST', body, user: 'maya' },
      { method: 'POST', body, user: 'maya' },
      { method: 'POST', body, user: 'noah' },
      { method: 'GET', user: 'maya' },
      { method: 'GET', user: 'noah' },
    ]);
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 201, 200, 403, 200, 200]);
    const [own = '', foreign = ''] = answers.slice(-2).map(({ text }) => text);
    expect((await stateFor(own, session)).status).toBe(200);
    expect((await stateFor(foreign, session)).status).toBe(404);
    expect(await storedIn(session)).toMatchObject([{ data: { content: 'Hello', by: 'maya' } }]);
  });

  interface RouteCall {
    readonly method: 'GET' | 'POST';
    readonly body?: string;
    readonly user?: string;
  }

  /** The file in an app of which nothing else is there but who is signed in. */
  async function askNextRoute(session: string, calls: readonly RouteCall[]) {
    const app = mkdtempSync(join(inject('runFolder'), 'next-'));
    const auth = join(app, 'node_modules', '@', 'auth');
    mkdirSync(auth, { recursive: true });
    symlinkSync(join(root, 'node_modules', 'jose'), join(app, 'node_modules', 'jose'));
    writeFileSync(join(auth, 'package.json'), '{"type":"module","exports":"./auth.js"}');
    writeFileSync(join(auth, 'auth.js'), 'export const auth = async () => globalThis.signedIn;');
    writeFileSync(join(app, 'package.json'), '{"type":"module"}');
    writeFileSync(join(app, 'route.js'), readExample('next-route.js'));
    writeFileSync(
      join(app, 'app.js'),
      `import * as route from './route.js';
       const { session, calls } = JSON.parse(process.argv[2]);
       const answers = [];
       for (const { method, body, user } of calls) {
         globalThis.signedIn = user === undefined ? null : { user: { id: user } };
         const request = new Request('http://app.test/api/sessions/' + session, { method, body });
         const answer = await route[method](request, { params: Promise.resolve({ session }) });
         answers.push({ status: answer.status, text: await answer.text() });
       }
       console.log(JSON.stringify(answers));`,
    );
    const words = ['node', 'app.js', JSON.stringify({ session, calls })];
    return JSON.parse(await startExample(words, environment, app).printed) as { status: number; text: string }[];
  }
});

test.each(['nginx.conf', 'Caddyfile'] as const)(
  'behind a proxy with %s each event comes before the next is written, and an EventSource hears when to come back',
  async (name) => {
    const database = await freshDatabase();
    onTestFinished(() => database.drop());
    const own = await startInProcessGateway({ config: { databaseUrl: database.url } });
    onTestFinished(() => own.stop());
    const proxy = await startProxy(name, own.publicUrl);
    onTestFinished(() => proxy.stop());
    const session = await newSession(own);
    const stream = `${proxy.url}/sessions/${session}/stream`;
    const headers = { authorization: `Bearer ${await own.token()}`, 'accept-encoding': 'gzip' };
    const reader = await readStream(stream, headers);
    await reader.frame('connected');
    for (const last of [1, 2, 3]) {
      await appendNumbers(own, session, 1);
      await reader.events(last);
    }
    await reader.close();
    await own.stop();
    const away = await fetch(stream, { headers });
    expect([away.status, away.headers.get('content-type'), await away.text()]).toEqual([
      200,
      'text/event-stream',
      'retry: 2000\n\n',
    ]);
    expect((await fetch(`${proxy.url}/sessions/${session}`, { headers })).status).toBe(502);
  },
);
