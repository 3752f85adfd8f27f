/** `ledgerline worker` as an operator runs it: names what is wrong with a file, answers messages, and gives back what it leaves. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, onTestFinished, it } from 'vitest';
import { endAll, makeWorkingFolder, runCli, startCli } from '../support/cli.ts';
import type { Cli } from '../support/cli.ts';
import { call, createSession } from '../support/gateway-calls.ts';
import { startInProcessGateway } from '../support/in-process-gateway.ts';
import type { InProcessGateway } from '../support/in-process-gateway.ts';
import { freshDatabase } from '../support/services.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';
import { eventually } from '../support/waits.ts';

const folder = makeWorkingFolder();
afterEach(endAll);
afterAll(folder.remove);

const library = new URL('../../dist/worker/define-agent.js', import.meta.url).href;
const file = (name: string, text: string): string => {
  writeFileSync(
    join(folder.path, name),
    `import { AgentError, defineAgent } from ${JSON.stringify(library)};\n${text}`,
  );
  return name;
};
const nowhere = { DATABASE_URL: 'postgres://user:password@127.0.0.1:1/database' };

describe('a file', () => {
  it.each<[string, string, RegExp]>([
    ['none.mjs', '', /none\.mjs has no default export: it needs export default defineAgent\(/],
    ['list.mjs', 'export default [];', /list\.mjs exports a list by default: a worker runs one agent/],
    ['plain.mjs', "export default { name: 'a', run() {} };", /default export of plain\.mjs is not an agent: it needs/],
    [
      'bad.mjs',
      "export default defineAgent({ name: '' });",
      /bad\.mjs could not be imported: defineAgent: name: is 1 to 64/,
    ],
    [
      'broken.mjs',
      'export default nothing;',
      /broken\.mjs could not be imported: ReferenceError: nothing is not defined\n/,
    ],
  ])('%s is refused with what to do about it', async (name, text, message) => {
    const { code, stdout, stderr } = await runCli(['worker', file(name, text)], {
      folder: folder.path,
      environment: nowhere,
    });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^ledgerline: /);
    expect(stderr).toMatch(message);
  });

  it('that is not there, or is TypeScript that this Node does not run, is refused as well', async () => {
    const missing = await runCli(['worker', 'gone.mjs'], { folder: folder.path, environment: nowhere });
    expect(missing).toMatchObject({
      code: 2,
      stderr: `ledgerline: there is no file ${join(folder.path, 'gone.mjs')}\n`,
    });
    const typed = await runCli(['worker', file('agent.ts', 'enum Kind { One }\nexport default Kind;')], {
      folder: folder.path,
      environment: nowhere,
    });
    expect(typed.code).toBe(2);
    expect(typed.stderr).toMatch(/does not run agent\.ts: compile it|agent\.ts could not be imported/);
  });

  it('is not looked at before the settings are right', async () => {
    const { code, stderr } = await runCli(['worker', 'gone.mjs'], { folder: folder.path });
    expect(code).toBe(2);
    expect(stderr).toContain('DATABASE_URL is missing');
  });
});

it('needs a database that is up to date', async () => {
  const database = await freshDatabase({ isEmpty: true });
  onTestFinished(() => database.drop());
  const agent = file('idle.mjs', "export default defineAgent({ name: 'idle', run: async () => {} });");
  const { code, stderr } = await runCli(['worker', agent], {
    folder: folder.path,
    environment: { DATABASE_URL: database.url },
  });
  expect(code).toBe(1);
  expect(stderr).toContain('the database is at migration 0');
});

describe('a worker', () => {
  interface Stage {
    readonly gateway: InProcessGateway & { readonly key: string };
    readonly databaseUrl: string;
    events(): Promise<{ type: string; data: Record<string, unknown> }[]>;
    say(content: string): Promise<void>;
    until(type: string): Promise<Record<string, unknown>>;
  }

  async function stage(): Promise<Stage> {
    const database = await freshDatabase();
    const gateway = await startInProcessGateway({ config: { databaseUrl: database.url } });
    onTestFinished(async () => {
      await gateway.stop();
      await database.drop();
    });
    await createSession(gateway, 's1');
    const token = await gateway.token({ scope: 'read send' });
    const events = async () => {
      const { text } = await call(gateway, 'GET', '/sessions/s1/events?limit=1000');
      return (JSON.parse(text) as { events: { type: string; data: Record<string, unknown> }[] }).events;
    };
    return {
      gateway,
      databaseUrl: database.url,
      events,
      async say(content) {
        const answer = await fetch(`${gateway.publicUrl}/sessions/s1/messages`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: JSON.stringify({ key: content.replaceAll(/\W/g, '-'), content }),
        });
        expect([answer.status, await answer.text()]).toEqual([201, expect.stringContaining('"sequence"')]);
      },
      until: (type) => eventually(type, async () => (await events()).find((event) => event.type === type)?.data),
    };
  }

  const start = (agent: string, databaseUrl: string, environment: Record<string, string> = {}): Cli =>
    startCli(['worker', agent, '--name', 'worker-1', '--concurrency', '2'], {
      folder: folder.path,
      environment: { DATABASE_URL: databaseUrl, ...environment },
    });

  const slow = `export default defineAgent({ name: 'slow', async run(turn) {
    await turn.append('text.delta', { message: 'm', text: 'on it' });
    if (turn.inputs[0].content === 'wait') await new Promise((resolve) => turn.signal.addEventListener('abort', resolve));
    return [{ type: 'message.completed', data: { message: 'm', role: 'assistant', content: 'on it' } }];
  } });`;

  it('says on a port whether it is ready, and what it counts', async () => {
    const { databaseUrl, say, until } = await stage();
    const worker = startCli(['worker', file('slow.mjs', slow), '--port', '0'], {
      folder: folder.path,
      environment: { DATABASE_URL: databaseUrl },
    });
    const url = await eventually('it listens', () => /"url":"http:\/\/[^"]*:(\d+)"/.exec(worker.stderr())?.[1]);
    const get = async (path: string) => {
      const answer = await fetch(`http://127.0.0.1:${url}${path}`);
      return { status: answer.status, text: await answer.text() };
    };
    expect(await get('/readyz')).toEqual({ status: 200, text: '{"status":"ready"}' });
    await say('hello');
    await until('turn.completed');
    expect((await get('/metrics')).text).toMatch(/^ledgerline_claim_seconds_count 1$/m);
    expect((await get('/sessions/s1')).status).toBe(404);
    worker.signal('SIGTERM');
    expect(await worker.exit).toBe(0);
  });

  it('answers messages, and leaves in order when it is asked to, giving back what it has not finished [oban#328]', async () => {
    const { databaseUrl, say, until, events } = await stage();
    const first = start(file('slow.mjs', slow), databaseUrl, { LEDGERLINE_DRAIN_MS: '100' });
    await eventually('it works', () => first.stderr().includes('"working"'));
    expect(first.stderr()).toContain('"worker":"worker-1"');
    await say('hello');
    await until('turn.completed');
    await say('wait');
    await eventually('the second turn is at work', async () => (await events()).at(-1)?.type === 'text.delta');
    first.signal('SIGTERM');
    expect(await first.exit).toBe(0);
    expect(first.stdout()).toBe('');
    expect(first.stderr()).toContain('"stopped"');
    expect(await until('turn.retrying')).toMatchObject({ reason: 'released' });
    start('slow.mjs', databaseUrl);
    const restarted = await eventually('another worker has it', async () => {
      const started = (await events()).filter(({ type }) => type === 'turn.started');
      return started.length === 3 && started.at(-1)?.data;
    });
    expect(restarted).toMatchObject({ try: 1 });
  });

  it('outlives an absence of its database, without NATS or a port that would keep the process', async () => {
    const { databaseUrl, say, until } = await stage();
    const { hostname: host, port } = new URL(databaseUrl);
    const wire = await startTcpProxy({ host, port: Number(port) });
    onTestFinished(() => wire.stop());
    const url = Object.assign(new URL(databaseUrl), { host: `127.0.0.1:${wire.port}` });
    const worker = start(file('slow.mjs', slow), url.href);
    worker.endInput(); // as under a supervisor
    await eventually('it works', () => worker.stderr().includes('"working"'));
    await wire.cut();
    await eventually('it misses its database', () => worker.stderr().includes('is away'));
    await wire.restore();
    await say('hello');
    await until('turn.completed');
    worker.signal('SIGTERM');
    expect(await worker.exit).toBe(0);
  });

  it('that is killed is followed by another, which answers with the same inputs', async () => {
    const { databaseUrl, say, until, events } = await stage();
    const environment = { LEDGERLINE_LEASE_MS: '1000' };
    const killed = start(file('slow.mjs', slow), databaseUrl, environment);
    await say('wait');
    await eventually('it is at work', async () => (await events()).at(-1)?.type === 'text.delta');
    killed.signal('SIGKILL');
    expect(await killed.exit).toBe(137);
    start(file('quick.mjs', slow.replace("=== 'wait'", '=== 0')), databaseUrl, environment);
    const completed = await until('turn.completed');
    const started = (await events()).filter(({ type }) => type === 'turn.started').map(({ data }) => data);
    expect(started).toMatchObject([
      { try: 1, inputs: [1], turn: completed['turn'] },
      { try: 2, inputs: [1], turn: completed['turn'] },
    ]);
  });

  it('whose agent blocks the process ends itself before its turn is another’s, which answers [oban#1141]', async () => {
    const { databaseUrl, say, until, events } = await stage();
    const environment = { LEDGERLINE_LEASE_MS: '1000' };
    const blocks = `export default defineAgent({ name: 'blocks', async run(turn) {
      await turn.append('note', 'it is about to hang');
      await turn.flush();
      for (;;);
    } });`;
    const blocked = start(file('blocks.mjs', blocks), databaseUrl, environment);
    await say('hello');
    expect(await blocked.exit).toBe(137);
    expect(blocked.stderr()).toContain('the loop is blocked');
    start(file('quick.mjs', slow), databaseUrl, environment);
    await until('turn.completed');
    const types = (await events()).map(({ type }) => type);
    expect(types.filter((type) => type === 'message.completed')).toHaveLength(1);
  });
});
