/** What the READMEs show can be pasted: what runs in Node is run against a gateway, and all that uses the client compiles. */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { endAll, startCli } from '../support/cli.ts';
import { type Example, examplesOf } from '../support/examples.ts';
import { call, closeSession } from '../support/gateway-calls.ts';
import { type InProcessGateway, startInProcessGateway } from '../support/in-process-gateway.ts';
import { withSql } from '../support/ledger.ts';
import { type PackedClient, packClient } from '../support/packed-client.ts';
import { freshDatabase, startNats } from '../support/services.ts';
import { appendNumbers, newSession } from '../support/session-calls.ts';
import { eventually } from '../support/waits.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);
const HANG_MS = 60_000;

const examples = ['README.md', 'web-client/README.md'].flatMap(examplesOf);
const isOf = ({ imports }: Example, ...packages: readonly string[]): boolean =>
  packages.some((name) => imports.some((specifier) => specifier === name || specifier.startsWith(`${name}/`)));
const isAgent = (example: Example): boolean => isOf(example, 'ledgerline/worker');
/** Of these two, the one delivers what the other applies. */
const isTooled = (example: Example): boolean => isAgent(example) && isOf(example, 'zod');
const isConsumer = (example: Example): boolean => isOf(example, 'ledgerline/inbox');
const isRun = (example: Example): boolean => example.language === 'js' && !isAgent(example) && !isConsumer(example);
const compiled = examples.filter((example) => isOf(example, '@ledgerline/web-client'));

let gateway: InProcessGateway;
let packed: PackedClient;
beforeAll(async () => {
  gateway = await startInProcessGateway();
  packed = packClient();
});
afterAll(async () => {
  packed?.remove();
  await gateway?.stop();
});

test('every example is run, or compiled', () => {
  const isTried = (example: Example) =>
    isRun(example) || isAgent(example) || isConsumer(example) || compiled.includes(example);
  expect(examples.filter((example) => !isTried(example))).toEqual([]);
  expect(examples.filter(isRun).length).toBeGreaterThanOrEqual(7);
  expect(compiled.filter(({ language }) => language === 'tsx').length).toBeGreaterThanOrEqual(2);
});

/** What an example says of a session of 43 events that is closed. The first that matches its code is meant. */
const expectations: readonly (readonly [code: string, output: RegExp])[] = [
  ['new EventSource(', /\bsequence: 1,[^]+\bsequence: 42,[^]+\bsequence: 43,/],
  ['createProducer', /^$/], // what it does is seen in the session
  ['for await (const event of followSession', /\bsequence: 1,[^]+\bsequence: 42,[^]+\bsequence: 43,/],
  [
    'await follower.done',
    /^(?:connecting\n)?replaying\n(?:live\n)?\[ 42(?:, 43 \]\n| \]\n\[ 43 \]\n)(?:live\n)?stopped\n$/,
  ],
  ['readHistory', /^43 \[\n[^]+43…43'[^]*\]\n$/],
  ['createSessionView', /(?:^|\n)stopped [1-9]\d* 43\n$/],
];

test.each(examples.filter(isRun))('$place runs, says what it should, and ends by itself', async (example) => {
  const session = await newSession(gateway);
  const isProducer = example.code.includes('createProducer');
  if (!isProducer) {
    await appendNumbers(gateway, session, 43);
    await closeSession(gateway, session);
  }
  const { stdout, stderr } = await runExample(example, session);
  const [, output] = expectations.find(([code]) => example.code.includes(code)) ?? [];
  expect(output, 'what it prints is expected somewhere').toBeDefined();
  expect(stderr).toBe('');
  expect(stdout).toMatch(output as RegExp);
  if (isProducer) {
    const { text } = await call(gateway, 'GET', `/sessions/${session}/events`);
    const { events } = JSON.parse(text) as { events: { type: string; data: Record<string, unknown> }[] };
    const said = events.map(({ type, data }) => [
      type,
      data['text'] ?? data['content'] ?? data['delta'] ?? data['type'],
    ]);
    expect(said).toEqual(appendedChunks);
  }
});

test.each(examples.filter((example) => isAgent(example) && !isTooled(example)))(
  '$place answers what is sent to it',
  async ({ code }) => {
    const database = await freshDatabase();
    const own = await startInProcessGateway({ config: { databaseUrl: database.url } });
    onTestFinished(async () => {
      await endAll();
      await own.stop();
      await database.drop();
    });
    const folder = join(packed.folder, 'agent');
    mkdirSync(folder);
    writeFileSync(join(folder, 'agent.mjs'), code);
    startCli(['worker', 'agent.mjs'], { folder, environment: { DATABASE_URL: database.url } });
    const session = await newSession(own);
    const token = await own.token({ sessions: [session], scope: 'send' });
    const answer = await fetch(`${own.publicUrl}/sessions/${session}/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ key: 'k', content: 'Where is order 7731?' }),
    });
    expect(answer.status).toBe(201);
    const events = async () => {
      const { text } = await call(own, 'GET', `/sessions/${session}/events`);
      return (JSON.parse(text) as { events: { type: string; data: { text?: string } }[] }).events;
    };
    await eventually('the turn is over', async () => (await events()).at(-1)?.type === 'turn.completed');
    expect((await events()).find(({ type }) => type === 'text.delta')?.data.text).toBe(
      'You said: Where is order 7731?',
    );
  },
);

test('the agent with tools refunds, and the consumer books it, each once', async () => {
  const [agent, consumer] = [examples.find(isTooled), examples.find(isConsumer)];
  const [database, nats] = await Promise.all([freshDatabase(), startNats()]);
  const own = await startInProcessGateway({ config: { databaseUrl: database.url } });
  onTestFinished(async () => {
    await endAll();
    await own.stop();
    await Promise.all([database.drop(), nats.stop()]);
  });
  const booked = () => withSql(database.url, (sql) => sql`select order_id, cents from entry`);
  await withSql(database.url, async (sql) => {
    await sql`create table refund (key text primary key, order_id text not null, cents integer not null)`;
    await sql`create table entry (identity text primary key, order_id text not null, cents integer not null)`;
  });
  const folder = join(packed.folder, 'tools');
  mkdirSync(folder);
  writeFileSync(join(folder, 'agent.mjs'), agent?.code ?? '');
  writeFileSync(join(folder, 'consumer.mjs'), consumer?.code ?? '');
  writeFileSync(join(folder, 'model.mjs'), `globalThis.askModel = ${askModel.toString()};`);
  const environment = { DATABASE_URL: database.url, NATS_URL: nats.url, LEDGERLINE_LOG_LEVEL: 'warn' };
  const withModel = { ...environment, NODE_OPTIONS: `--import=${pathToFileURL(join(folder, 'model.mjs')).href}` };
  startCli(['worker', 'agent.mjs'], { folder, environment: withModel });
  startCli(['relay'], { folder, environment });
  const consuming = spawn(process.execPath, ['consumer.mjs'], { cwd: folder, env: environment, stdio: 'ignore' });
  const ended = new Promise((resolve) => consuming.once('close', resolve));
  onTestFinished(() => void consuming.kill('SIGKILL'));

  const session = await newSession(own);
  const token = await own.token({ sessions: [session], scope: 'send' });
  await fetch(`${own.publicUrl}/sessions/${session}/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ key: 'k', content: 'Refund order 7731.' }),
  });
  await eventually('the delivery is applied', async () => (await booked()).length > 0);
  expect(await booked()).toEqual([{ order_id: '7731', cents: 4_000 }]);
  const refunds = await withSql(database.url, (sql) => sql`select order_id, cents from refund`);
  expect(refunds).toEqual([{ order_id: '7731', cents: 4_000 }]);
  await eventually('the turn is over', async () => {
    const { text } = await call(own, 'GET', `/sessions/${session}/events`);
    return text.includes('"turn.completed"');
  });
  consuming.kill('SIGTERM');
  expect(await ended).toBe(0);
});

/** A model that wants a refund, and then has nothing more to ask for. Runs in the agent's process. */
const askModel = (messages: readonly unknown[]) =>
  Promise.resolve(
    messages.length === 1
      ? {
          result: { role: 'assistant', content: '' },
          calls: [{ call: 'c1', tool: 'refund', args: { order: '7731', cents: 4_000 } }],
        }
      : { result: { role: 'assistant', content: 'It is on its way.' }, calls: [] },
  );

const appendedChunks = [
  ['ui.chunk', 'start'],
  ['ui.chunk', 'text-start'],
  ['ui.chunk', 'Hello'],
  ['ui.chunk', 'text-end'],
  ['ui.chunk', 'finish'],
];

/** The names that an example takes from what surrounds it. */
async function runExample({ code }: Example, session: string): Promise<{ stdout: string; stderr: string }> {
  const token = await gateway.token({ sessions: [session], scope: 'read' });
  const prelude = `
    const real = fetch;
    Object.assign(globalThis, {
      url: ${JSON.stringify(gateway.publicUrl)},
      token: ${JSON.stringify(token)},
      result: {
        async *toUIMessageStream() {
          yield { type: 'start', messageId: 'm1' };
          yield { type: 'text-start', id: 't1' };
          yield { type: 'text-delta', id: 't1', delta: 'Hello' };
          yield { type: 'text-end', id: 't1' };
          yield { type: 'finish' };
        },
      },
      fetch: (input, init) => (input === '/my/token' ? Promise.resolve(new Response(token)) : real(input, init)),
    });`;
  const folder = join(packed.folder, session);
  mkdirSync(folder);
  writeFileSync(join(folder, 'prelude.js'), prelude);
  writeFileSync(join(folder, 'example.js'), code.replaceAll('run-42', session));
  return run(process.execPath, ['--import', './prelude.js', 'example.js'], {
    cwd: folder,
    timeout: HANG_MS,
    env: {
      LEDGERLINE_INTERNAL_URL: gateway.internalUrl,
      LEDGERLINE_KEY: gateway.key,
    },
  });
}

test.each(['nodenext', 'bundler'])('all of them compile against the packed types, resolved as by %s', (resolution) => {
  const folder = join(packed.folder, `compiled-${resolution}`);
  mkdirSync(folder);
  for (const [index, { code }] of compiled.entries()) writeFileSync(join(folder, `example-${index}.tsx`), code);
  writeFileSync(join(folder, 'surroundings.d.ts'), 'declare const url: string;\ndeclare const token: string;\n');
  const compilerOptions = {
    target: 'es2023',
    lib: ['ES2023', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable'],
    module: resolution === 'bundler' ? 'esnext' : resolution,
    moduleResolution: resolution,
    jsx: 'react-jsx',
    types: [],
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
    noEmit: true,
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['.'] }));
  expect(
    diagnostics(folder).map((line) =>
      line.replace(/example-(\d+)/, (_, index) => compiled[Number(index)]?.place ?? ''),
    ),
  ).toEqual([]);
});

/** What is wrong in the examples and in our own types; those of other packages are not ours to mend. */
function diagnostics(folder: string): string[] {
  try {
    execFileSync(join(root, 'node_modules/.bin/tsc'), ['-p', folder, '--pretty', 'false'], { encoding: 'utf8' });
    return [];
  } catch (error) {
    const output = error instanceof Error && 'stdout' in error ? String(error.stdout) : String(error);
    const ours = output.split('\n').filter((line) => /^(?!.*node_modules\/(?!@ledgerline\/))\S/.test(line));
    return ours.length === 0 && !/: error TS\d+/.test(output) ? [output] : ours;
  }
}
