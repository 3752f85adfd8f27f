/** The development server's agent answers whoever writes, through restarts and kills, and stays away when it is told to. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it, onTestFinished } from 'vitest';
import { endAll, startCli } from '../support/cli.ts';
import type { Cli } from '../support/cli.ts';
import { freshDatabase } from '../support/services.ts';
import { workingFolder } from '../support/stage.ts';
import { eventually } from '../support/waits.ts';

interface Server {
  readonly public: string;
  readonly token: string;
}

interface Event {
  readonly type: string;
  readonly data: Record<string, unknown>;
}

afterEach(endAll);

interface Home {
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
}

async function home(environment: Readonly<Record<string, string>> = {}): Promise<Home> {
  const database = await freshDatabase({ isEmpty: true });
  onTestFinished(() => database.drop());
  return { folder: workingFolder(), environment: { DATABASE_URL: database.url, ...environment } };
}

async function dev(at: Home, { session = 's1', options = ['--no-demo'] } = {}) {
  const cli: Cli = startCli(['dev', '--port', '0', '--internal-port', '0', ...options], at);
  const [address, token] = await eventually('it greets', () => {
    const found = /http:\S+(?=\/\S*#token=)/.exec(cli.stdout());
    return found !== null && ([found[0], /#token=(\S+)/.exec(cli.stdout())?.[1] ?? ''] as const);
  });
  const server: Server = { public: address, token };
  async function ask(method: string, path: string, body?: object): Promise<unknown> {
    const answer = await fetch(`${server.public}${path}`, {
      method,
      headers: { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  }
  const events = async (): Promise<readonly Event[]> =>
    ((await ask('GET', `/sessions/${session}/events?limit=1000`)) as { events: Event[] }).events;
  await ask('POST', '/sessions', { session });
  return {
    cli,
    ask,
    events,
    say: (content: string) =>
      ask('POST', `/sessions/${session}/messages`, { key: content.replaceAll(/\W/g, '-'), content }),
    until: (type: string) => eventually(type, async () => (await events()).find((event) => event.type === type)),
  };
}

it('answers a message, asks before it acts, and goes on with the decision while the gateway restarts', async () => {
  const { cli, ask, say, until, events } = await dev(await home());
  expect(cli.stdout()).toContain('An agent answers in every session');
  await ask('POST', '/lab/faults', { fault: 'drop_next', session: 's1' });
  await say('Refund order 7731, please');
  const { data } = await until('approval.required');
  expect(data).toMatchObject({ tool: 'refunds.create', args: { order: '7731' } });
  await until('turn.waiting');
  await ask('POST', '/sessions/s1/decisions', { approval: data['approval'], decision: 'approved' });
  await ask('POST', '/lab/faults', { fault: 'restart_gateway', session: 's1' });
  await until('turn.completed');
  const told = await events();
  expect(told.filter(({ type }) => type === 'turn.retrying')).toEqual([]);
  expect(told.filter(({ type }) => type === 'message.completed').map(({ data: { content } }) => content)).toEqual([
    expect.stringContaining('I found order 7731'),
    expect.stringContaining('Done: order 7731 is refunded'),
  ]);
  cli.signal('SIGINT');
  expect(await cli.exit).toBe(0);
});

it('gives its turn back when the server ends in the middle of an answer, and takes it up with the next start', async () => {
  const at = await home();
  const first = await dev(at);
  await first.say('hello');
  await first.until('text.delta');
  first.cli.signal('SIGINT');
  expect(await first.cli.exit).toBe(0);
  expect(first.cli.stderr()).toBe('');
  const second = await dev(at);
  const tries = await eventually('it is taken up', async () => {
    const started = (await second.events()).filter(({ type }) => type === 'turn.started');
    return started.length === 2 && started.map(({ data }) => data['try']);
  });
  expect(tries).toEqual([1, 1]);
  expect(await second.until('turn.retrying')).toMatchObject({ data: { reason: 'released' } });
});

it('goes on with the demo where a kill cut it off, and its visitor says nothing on top', async () => {
  // The lease of a worker that was killed is waited for.
  const at = await home({ LEDGERLINE_LEASE_MS: '4000' });
  const demo = { session: 'demo', options: [] };
  const first = await dev(at, demo);
  expect(first.cli.stdout()).toContain('In the session "demo" a visitor talks with the agent');
  await first.until('reasoning.delta');
  first.cli.signal('SIGKILL');
  expect(await first.cli.exit).toBe(137);
  const second = await dev(at, demo);
  expect(await second.until('turn.retrying')).toMatchObject({ data: { reason: 'lost' } });
  const told = await eventually('it does it again', async () => {
    const events = await second.events();
    const lost = events.findIndex(({ type }) => type === 'turn.retrying');
    return events.slice(lost).some(({ type }) => type === 'tool.result') && events;
  });
  expect(told.filter(({ type }) => type === 'message.created')).toMatchObject([{ data: { by: 'visitor' } }]);
});

it('loses broadcasts in the lab like everybody', async () => {
  const { ask, say, until } = await dev(await home());
  await ask('POST', '/lab/faults', { fault: 'stop_bus', session: 's1' });
  await say('hello');
  await until('text.delta');
  const marks = (await ask('GET', '/lab/sessions/s1/marks')) as { marks: { kind: string; last: number }[] };
  // More than the message and the beginning of its turn.
  expect(marks.marks.filter(({ kind, last }) => kind === 'lost' && last > 2)).not.toEqual([]);
});

it('leaves messages to a worker of the person’s own when it is told to', async () => {
  const at = await home();
  const { cli, ask, say, until } = await dev(at, { options: ['--no-agent'] });
  expect(cli.stdout()).not.toContain('An agent answers');
  // Without it the demo would have nobody to talk to.
  expect(cli.stdout()).not.toContain('"demo"');
  await expect(ask('GET', '/sessions/demo')).rejects.toThrow('404');
  const library = new URL('../../dist/worker/define-agent.js', import.meta.url).href;
  const agent = `import { defineAgent } from ${JSON.stringify(library)};
    const answer = { type: 'message.completed', data: { message: 'm', role: 'assistant', content: 'mine' } };
    export default defineAgent({ name: 'mine', run: async () => [answer] });`;
  writeFileSync(join(at.folder, 'agent.mjs'), agent);
  await say('hello');
  startCli(['worker', 'agent.mjs'], at);
  expect(await until('message.completed')).toMatchObject({ data: { content: 'mine' } });
});
