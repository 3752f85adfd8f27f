/** The development server's agent answers whoever writes, through restarts and kills, and stays away when it is told to. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { endAll, startCli } from '../support/cli.ts';
import { dev, home } from '../support/dev-server.ts';
import { eventually } from '../support/waits.ts';

afterEach(endAll);

it('answers a message, asks before it acts, and goes on with the decision while the gateway restarts', async () => {
  const { cli, ask, say, until, events } = await dev(await home());
  expect(cli.stdout()).toContain('An agent answers in every session');
  expect(cli.stdout()).toContain('deliveries stay within this process; with NATS_URL they go by JetStream');
  await ask('POST', '/lab/faults', { fault: 'drop_next', session: 's1' });
  await say('Refund order 7731, please');
  const { data } = await until('approval.required');
  expect(data).toMatchObject({ tool: 'issue_refund', args: { order: '7731', cents: 40 } });
  await until('turn.waiting');
  await ask('POST', '/sessions/s1/decisions', { approval: data['approval'], decision: 'approved' });
  await ask('POST', '/lab/faults', { fault: 'restart_gateway', session: 's1' });
  await until('turn.completed');
  const told = await events();
  expect(told.filter(({ type }) => type === 'turn.retrying')).toEqual([]);
  expect(told.filter(({ type }) => type === 'message.completed').map(({ data: { content } }) => content)).toEqual([
    expect.stringContaining('I look order 7731 up'),
    expect.stringContaining('Done: €0.40 of order 7731'),
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
  expect(cli.stdout()).toContain('deliveries wait; with NATS_URL they go by JetStream');
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
