/** The demo is a real conversation: the visitor and the agent, and whoever joins them, on a real gateway and database. */
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import type { Service } from '../../src/base/service.ts';
import { localBus } from '../../src/bus/local-bus.ts';
import { createAgentHost } from '../../src/cli/agent-host.ts';
import { demoAgent } from '../../src/cli/demo-agent.ts';
import type { Pause } from '../../src/cli/demo-agent-speech.ts';
import { COLLEAGUE, DEMO_SESSION, VISITOR } from '../../src/cli/demo-cast.ts';
import { demoScript } from '../../src/cli/demo-script.ts';
import { createDemoVisitor } from '../../src/cli/demo-visitor.ts';
import { lentBus } from '../../src/cli/lent-bus.ts';
import { readRefunds } from '../../src/example/books.ts';
import { migrateExample } from '../../src/example/tables.ts';
import { withSql } from '../support/ledger.ts';
import { startInProcessGateway } from '../support/in-process-gateway.ts';
import { freshDatabase } from '../support/services.ts';
import { readStream } from '../support/sse-reader.ts';
import { recordingLog } from '../support/stub-gateway.ts';
import { eventually } from '../support/waits.ts';

interface Told {
  readonly sequence: number;
  readonly type: string;
  readonly data: Record<string, unknown>;
}

/** A story is a thousand events, one after another. */
const STORY_MS = 50_000;

const quick = { pauseMs: 1, lookMs: 5, thinkMs: 1, decideMs: 10 };
/** The question is left to the test. */
const patient = { ...quick, decideMs: Number.MAX_SAFE_INTEGER };

async function theatre() {
  const database = await freshDatabase();
  await migrateExample(database.url, silentLog);
  const bus = localBus({ log: silentLog, metrics: createMetrics() });
  await bus.start();
  const gateway = await startInProcessGateway({
    config: { databaseUrl: database.url },
    overrides: { bus: lentBus(bus) },
  });
  onTestFinished(async () => {
    await gateway.stop();
    await bus.stop();
    await database.drop();
  });
  const { log, lines } = recordingLog();

  async function begin(service: Service): Promise<Service> {
    await service.start();
    onTestFinished(() => service.stop());
    return service;
  }
  async function ask(method: string, path: string, body?: object): Promise<unknown> {
    const token = await gateway.token({ subject: 'person' });
    const answer = await fetch(`${gateway.publicUrl}/sessions/${DEMO_SESSION}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  }
  const told = async (): Promise<readonly Told[]> => {
    const all: Told[] = [];
    for (;;) {
      const page = (await ask('GET', `/events?limit=1000&after=${all.length}`)) as { events: Told[] };
      if (page.events.length === 0) return all;
      all.push(...page.events);
    }
  };
  const all = async (type: string) => (await told()).filter((event) => event.type === type);

  return {
    lines,
    ask,
    all,
    until: (type: string, count = 1) =>
      eventually(
        `${type}, ${count} times`,
        async () => {
          const found = await all(type);
          return found.length >= count && found;
        },
        STORY_MS,
      ),
    said: async () => (await all('message.created')).filter(({ data }) => data['by'] === VISITOR),
    refunds: () => withSql(database.url, readRefunds),
    answers: async () => (await all('message.completed')).map(({ data }) => String(data['content'])),
    agent: (pause: Pause) =>
      begin(
        createAgentHost({
          agent: demoAgent(undefined, pause),
          config: { databaseUrl: database.url, databasePrepare: true, leaseMs: 30_000, drainMs: 0 },
          bus: lentBus(bus),
          log: silentLog,
          clock: systemClock,
        }),
      ),
    async visitor(pace = quick) {
      const visitor = await gateway.token({ subject: VISITOR, sessions: [DEMO_SESSION], scope: 'create read send' });
      const colleague = await gateway.token({ subject: COLLEAGUE, sessions: [DEMO_SESSION], scope: 'send' });
      return begin(createDemoVisitor({ url: gateway.publicUrl, tokens: { visitor, colleague }, log, pace }));
    },
    async watch() {
      const headers = { authorization: `Bearer ${await gateway.token()}` };
      const reader = await readStream(`${gateway.publicUrl}/sessions/${DEMO_SESSION}/stream`, headers);
      onTestFinished(() => reader.close());
    },
  };
}

const atOnce: Pause = (_delayMs, signal) => {
  signal.throwIfAborted();
  return Promise.resolve();
};

/** Holds the agent in the middle of its first thought, until it is let go or told to stop. */
function holding(): { readonly pause: Pause; letGo(): void } {
  let letGo!: () => void;
  const free = new Promise<void>((resolve) => (letGo = resolve));
  let count = 0;
  const pause: Pause = async (delayMs, signal) => {
    count += 1;
    if (count === 10) {
      await Promise.race([free, new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))]);
    }
    return atOnce(delayMs, signal);
  };
  return { pause, letGo };
}

test('the story is two turns, one of them across a decision, the other across a failure', async () => {
  const { agent, visitor, until, said, all, answers, refunds, lines } = await theatre();
  await agent(atOnce);
  await visitor();
  const completed = await until('turn.completed', 2);
  expect(completed).toHaveLength(2);
  expect((await said()).map(({ data }) => [data['content'], data['onBusy']])).toEqual(
    demoScript.map(({ question }) => [question, 'reject']),
  );
  expect((await said()).map(({ data }) => String(data['key']).replace(/-[a-z0-9]+-/, '-…-'))).toEqual([
    'demo-…-1',
    'demo-…-2',
  ]);
  expect(await all('approval.decided')).toMatchObject([{ data: { decision: 'approved', by: COLLEAGUE } }]);
  expect(await all('turn.retrying')).toMatchObject([{ data: { reason: 'failed', error: { code: 'model_cut' } } }]);
  const told = await answers();
  expect(told).toHaveLength(3);
  expect(told[1]).toContain('is refunded');
  const [turn] = (await all('turn.started')).map(({ data }) => String(data['turn']));
  expect(await refunds()).toMatchObject([{ key: `v1:${turn}:7`, order: '7731', cents: 40 }]);
  // What an attempt before had done was not done again: the journal said what came of it.
  const known = (await all('step.done')).filter(({ data }) => data['fromJournal'] === true);
  expect(known.map(({ data }) => data['tool'])).toEqual([
    'lookup_order',
    'check_stock',
    'search_policy',
    'water_hardness',
  ]);
  expect(told[2]).toContain('Enjoy Saturday');
  expect(lines()).toBe('');
});

test('a person decides in the colleague’s stead, and the agent goes by that', async () => {
  const { agent, visitor, until, ask, answers, refunds, said } = await theatre();
  await agent(atOnce);
  await visitor(patient);
  await until('turn.waiting');
  const [asked] = await until('approval.required');
  await ask('POST', '/decisions', { approval: asked?.data['approval'], decision: 'denied' });
  expect(await until('approval.decided')).toMatchObject([{ data: { by: 'person', decision: 'denied' } }]);
  await until('turn.completed', 2);
  expect((await answers())[1]).toContain('I was not allowed to refund');
  expect(await refunds()).toEqual([]);
  expect(await said()).toHaveLength(2);
});

test('a person stops a turn, and the visitor goes on with its next message', async () => {
  const { agent, visitor, until, ask, said } = await theatre();
  await agent(holding().pause);
  await visitor();
  await until('reasoning.delta');
  await ask('POST', '/stop');
  expect(await until('turn.cancelled')).toMatchObject([{ data: { reason: 'stopped' } }]);
  await until('turn.completed');
  expect((await said()).map(({ data }) => data['content'])).toEqual(demoScript.map(({ question }) => question));
});

test.each([
  ['enqueue', 2],
  ['steer', 1],
  ['interrupt', 1],
])('a person’s message (%s) is answered, and the visitor writes no more', async (onBusy, completed) => {
  const { agent, visitor, watch, until, ask, said, answers, all, lines } = await theatre();
  const { pause, letGo } = holding();
  await agent(pause);
  await visitor();
  await watch();
  await until('reasoning.delta');
  await ask('POST', '/messages', { key: 'mine', content: 'hello', onBusy });
  if (onBusy !== 'interrupt') letGo();
  await until('turn.completed', completed);
  expect((await answers()).at(-1)).toContain('You wrote: “hello”');
  await eventually('it leaves', () => lines().includes('the visitor writes no more'));
  expect(await said()).toHaveLength(1);
  expect(await all('turn.completed')).toHaveLength(completed);
});

test('a turn that an earlier process began is left to end, and the story begins anew when somebody watches', async () => {
  const { agent, visitor, watch, until, said } = await theatre();
  const [leavingAgent, leavingVisitor] = [await agent(holding().pause), await visitor()];
  await until('reasoning.delta');
  await leavingVisitor.stop();
  await leavingAgent.stop();
  await until('turn.retrying');

  await visitor();
  await agent(atOnce);
  const [ended] = await until('turn.completed');
  expect(await said()).toHaveLength(1);
  await watch();
  const messages = await eventually('it writes again', async () => {
    const found = await said();
    return found.length > 1 && found;
  });
  expect(messages.map(({ data }) => data['content']).slice(0, 2)).toEqual([
    demoScript[0]?.question,
    demoScript[0]?.question,
  ]);
  expect(messages[1]?.sequence).toBeGreaterThan(ended?.sequence ?? Infinity);
});
