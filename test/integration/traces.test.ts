/** What a caller says of its trace is kept with what it brought, and goes with a message to the turn that answers it. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import { localBus } from '../../src/bus/local-bus.ts';
import { createAgentHost } from '../../src/cli/agent-host.ts';
import { defineAgent } from '../../src/worker/define-agent.ts';
import { call, createSession } from '../support/gateway-calls.ts';
import { startInProcessGateway } from '../support/in-process-gateway.ts';
import type { InProcessGateway } from '../support/in-process-gateway.ts';
import { withSql } from '../support/ledger.ts';
import { documentedLines, membersOf, readableLog } from '../support/log-lines.ts';
import { line, openNdjson } from '../support/ndjson-call.ts';
import { freshDatabase } from '../support/services.ts';
import type { FreshDatabase } from '../support/services.ts';
import { eventually } from '../support/waits.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const traceparent = `00-${traceId}-b7ad6b7169203331-01`;
const other = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00';
const log = readableLog();
let database: FreshDatabase;
let gateway: InProcessGateway;
beforeAll(async () => {
  database = await freshDatabase();
  gateway = await startInProcessGateway({ config: { databaseUrl: database.url }, log: log.log });
});
afterAll(async () => {
  await gateway.stop();
  await database.drop();
});

const kept = (session: string): Promise<(string | null)[]> =>
  withSql(database.url, async (sql) => {
    const rows = await sql<{ traceparent: string | null }[]>`
      select traceparent from ledgerline.event where session = ${session}::text order by sequence`;
    return rows.map((row) => row.traceparent);
  });

const append = (session: string, headers: Record<string, string>, more = '') =>
  call(gateway, 'POST', `/internal/sessions/${session}/events`, `{${more}"events":[${two}]}`, headers);
const two = '{"type":"a","data":1},{"type":"a","data":2}';
const send = (session: string, key: string, headers: Record<string, string>) =>
  call(gateway, 'POST', `/sessions/${session}/messages`, JSON.stringify({ key, content: 'hello' }), headers);

test('an append’s is kept with its first event, by the plain statement and by the stamp', async () => {
  await createSession(gateway, 'appends');
  expect((await append('appends', { traceparent })).status).toBe(201);
  // Several at once, with opinions of the head: the stamp judges them.
  const answers = await Promise.all(
    [2, 2, 2].map((head) => append('appends', { traceparent: other }, `"expectedHead":${head},`)),
  );
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409, 409]);
  expect(await kept('appends')).toEqual([traceparent, null, other, null]);
  const { text } = await call(gateway, 'GET', '/sessions/appends/events');
  expect(text).not.toContain(traceId);
});

test('the release before, whose stamp knows of no trace, stores on the migrated database', async () => {
  await createSession(gateway, 'older');
  const [receipt] = await withSql(
    database.url,
    (sql) => sql<{ firsts: string }[]>`
      select ledgerline.stamp(null, interval '30 s', '{older}', '{1}', '{2}', '{null}', '{null}', '{null}', '{null}', '{null}',
                              '{1,1}', '{a,a}', '{1,2}')::json ->> 'firsts' as firsts`,
  );
  expect(receipt).toEqual({ firsts: '[1]' });
  expect(await kept('older')).toEqual([null, null]);
});

test('that of a stream of lines is kept with the first event of each batch', async () => {
  await createSession(gateway, 'lines');
  const producer = openNdjson(gateway, 'lines', 'producer=p&sequence=1', { traceparent });
  producer.write(line('1'));
  await producer.said({ counter: 1 });
  producer.write(line('2') + line('3'));
  await producer.said({ counter: 3 });
  await producer.end();
  expect((await kept('lines'))[0]).toBe(traceparent);
});

test.each(['', 'nonsense', `00-${'0'.repeat(32)}-b7ad6b7169203331-01`, `${traceparent}, ${other}`])(
  'one that cannot be read, %j, is no trace and no error',
  async (text) => {
    const session = `unread-${text.length}`;
    await createSession(gateway, session);
    expect((await append(session, { traceparent: text })).status).toBe(201);
    expect((await send(session, 'k', { traceparent: text })).status).toBe(201);
    expect(await kept(session)).toEqual([null, null, null]);
  },
);

test('a message’s goes with its claim, the first of several, the same at every attempt', async () => {
  await createSession(gateway, 'claimed');
  for (const [key, header] of [
    ['a', ''],
    ['b', traceparent],
    ['c', other],
  ] as const)
    expect((await send('claimed', key, { traceparent: header })).status).toBe(201);
  const claim = async () => {
    const { text } = await call(gateway, 'POST', '/internal/turns/claim', '{"worker":"w","limit":50,"waitMs":5000}');
    const { turns } = JSON.parse(text) as {
      turns: { session: string; turn: string; attempt: number; traceparent: string | null }[];
    };
    return turns;
  };
  const claimed = (turns: Awaited<ReturnType<typeof claim>>) => turns.find(({ session }) => session === 'claimed');
  const first = await eventually('the turn is claimed', async () => claimed(await claim()));
  expect(first.traceparent).toBe(traceparent);
  const told = await log.line({ msg: 'turn claimed', session: 'claimed', traceId });
  expect(membersOf(told)).toEqual(membersOf(documentedLines('### Following one turn')[0] ?? {}));

  const at = `/internal/sessions/claimed/turns/${first.turn}/release`;
  const released = await call(gateway, 'POST', at, JSON.stringify({ attempt: first.attempt }), { traceparent });
  expect(released.status).toBe(200);
  await log.line({ msg: 'request', session: 'claimed', turn: first.turn, turnStatus: 'open', status: 200, traceId });
  const second = await eventually('the turn is claimed again', async () => claimed(await claim()));
  expect([second.turn, second.traceparent]).toEqual([first.turn, traceparent]);
  expect(second.attempt).toBeGreaterThan(first.attempt);
});

test('an agent has it, and its worker’s lines carry the trace', async () => {
  await createSession(gateway, 'answered');
  const given: (string | undefined)[] = [];
  const agent = defineAgent({
    name: 'echo',
    run: (turn) => {
      if (turn.session === 'answered') given.push(turn.traceparent);
      return Promise.resolve();
    },
  });
  const bus = localBus({ log: log.log, metrics: createMetrics() });
  const config = { databaseUrl: database.url, databasePrepare: true, leaseMs: 30_000, drainMs: 1_000 };
  const host = createAgentHost({ agent, config, bus, log: log.log, clock: systemClock });
  await host.start();
  try {
    await send('answered', 'k', { traceparent });
    const completed = await log.line({ msg: 'completed', session: 'answered', status: 'done', traceId });
    expect(membersOf(completed)).toEqual(membersOf(documentedLines('### Following one turn')[1] ?? {}));
    expect(given).toEqual([traceparent]);
  } finally {
    await host.stop();
    await bus.stop();
  }
});
