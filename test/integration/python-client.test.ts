/** The Python client against real gateways: what it appends is there once and in order, what it follows is whole, whatever dies. */
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createProducer } from '../../src/producer/producer.ts';
import { startBalancer } from '../support/balancer.ts';
import { freshId } from '../support/deployment.ts';
import { startGateway } from '../support/gateway.ts';
import type { RunningGateway } from '../support/gateway.ts';
import { call, closeSession, createSession } from '../support/gateway-calls.ts';
import { countTo } from '../support/ledger.ts';
import { runPython, startPython } from '../support/python.ts';
import { freshDatabase, sharedNatsUrl } from '../support/services.ts';
import type { FreshDatabase } from '../support/services.ts';
import { eventually } from '../support/waits.ts';

let database: FreshDatabase;
let gateways: RunningGateway[];
let gateway: RunningGateway;
beforeAll(async () => {
  database = await freshDatabase();
  const environment = { LEDGERLINE_NATS_SUBJECT_ROOT: freshId() };
  const options = { databaseUrl: database.url, natsUrl: sharedNatsUrl(), environment };
  gateways = await Promise.all([startGateway(options), startGateway(options)]);
  gateway = gateways[0]!;
});
afterAll(async () => {
  await Promise.all(gateways.map((each) => each.kill()));
  await database.drop();
});

/** Where everything is, for a program. */
const place = (session: string, more: object = {}) => ({
  session,
  internal: gateway.internalUrl,
  public: gateway.publicUrl,
  key: gateway.key,
  secret: gateway.secret,
  ...more,
});
const producing = `
from ledgerline import LedgerlineError, Producer
def produce(**more):
    return Producer(given["internal"], given["key"], given["session"], **more)
`;
const following = `
from ledgerline import LedgerlineError, follow, mint_token
token = mint_token(given["secret"], sub="maya", sessions=[given["session"]])
def events(**more):
    return follow(given["public"], token, given["session"], **more)
`;

interface Envelope {
  readonly sequence: number;
  readonly type: string;
  readonly data: unknown;
}

async function stored(session: string): Promise<Envelope[]> {
  const all: Envelope[] = [];
  for (;;) {
    const after = all.at(-1)?.sequence ?? 0;
    const answer = await call(gateway, 'GET', `/sessions/${session}/events?after=${after}&limit=1000`);
    const { events } = JSON.parse(answer.text) as { events: Envelope[] };
    if (events.length === 0) return all;
    all.push(...events);
  }
}
const headOf = async (session: string): Promise<number> => {
  const { text } = await call(gateway, 'GET', `/sessions/${session}`);
  return (JSON.parse(text) as { head: number }).head;
};

describe('the Python producer', () => {
  it('creates the session, appends in order, and tells what is stored', async () => {
    const session = freshId();
    const printed = await runPython(
      `${producing}
with produce(producer="p1") as producer:
    producer.append("turn.started", {"turn": "t", "text": "é\\u2028\\ud83d"})
    producer.append_json("note", '{ "n": 9007199254740993,\\n"b":1, "a":2 }')
    print(producer.flush())
    for index in range(200):
        producer.append("text.delta", index)
    producer.append("message.completed", None)
    print(producer.close(), producer.counter)
`,
      place(session),
    );
    expect(printed).toBe('2\n203 203\n');
    const events = await stored(session);
    expect(events.map(({ sequence }) => sequence)).toEqual(countTo(203));
    expect(events.slice(2, 202).map(({ data }) => data)).toEqual(countTo(200).map((count) => count - 1));
    expect(events[0]).toMatchObject({ type: 'turn.started', data: { turn: 't', text: 'é\u2028\ud83d' } });
    expect(events.at(-1)).toMatchObject({ type: 'message.completed', data: null });
    const { text } = await call(gateway, 'GET', `/sessions/${session}/events?after=1&limit=1`);
    expect(text).toContain('"data":{ "n": 9007199254740993, "b":1, "a":2 }}');
  });

  it('goes on where an earlier life of it ended', async () => {
    const program = `${producing}
with produce(producer="import-7") as producer:
    for index in range(producer.counter, given["until"]):
        producer.append("note", index)
`;
    const session = freshId();
    await runPython(program, place(session, { until: 5 }));
    await runPython(program, place(session, { until: 12 }));
    expect((await stored(session)).map(({ data }) => data)).toEqual(countTo(12).map((count) => count - 1));
  });

  it('meets an error for what the server refuses, and for another of its name [I8]', async () => {
    const session = freshId();
    const printed = await runPython(
      `${producing}
def code(work):
    try:
        work()
    except LedgerlineError as error:
        return error.code
one, other = produce(producer="same"), produce(producer="same")
one.append("note", 1)
one.flush()
other.append("note", 1)
print(code(other.flush))
print(code(lambda: other.append("note", 2)))
print(code(lambda: one.append("Upper", 2)), code(lambda: one.append("note", "x" * (1 << 20) + "y" * 300)))
one.close()
print(code(lambda: one.append("note", 2)))
print(code(lambda: Producer(given["internal"], "wrong", given["session"])))
print(code(lambda: Producer("http://127.0.0.1:1", "k", given["session"], give_up_seconds=0.3)))
`,
      place(session),
    );
    expect(printed.trim().split('\n')).toEqual([
      'duplicate_append',
      'duplicate_append',
      'malformed too_large',
      'ended',
      'unauthorized',
      'gave_up',
    ]);
    expect(await headOf(session)).toBe(1);
  });
});

describe('the Python producer, where it could hide or lose something,', () => {
  it('meets another of its name also behind a server that asked it to wait [I8]', async () => {
    const slow = await startGateway({
      databaseUrl: database.url,
      environment: { LEDGERLINE_SESSION_EVENTS_PER_SECOND: '1' },
    });
    const printed = await runPython(
      `${producing}
one, other = produce(producer="same"), produce(producer="same")
for producer in (one, other):
    for index in range(3):
        producer.append("text.delta", index)
    try:
        print(producer.flush())
    except LedgerlineError as error:
        print(error.code)
`,
      { ...place(freshId()), internal: slow.internalUrl, key: slow.key },
    );
    await slow.kill();
    expect(printed).toBe('3\nduplicate_append\n');
  });

  it('refuses by itself what the server would, so that its batch and the key stay out of harm', async () => {
    const session = freshId();
    const printed = await runPython(
      `${producing}
producer = produce()
def failure(work):
    try:
        work()
    except LedgerlineError as error:
        return str(error)
print(failure(lambda: producer.append("note", "x" * ((1 << 20) - 1))))
producer.append("note", "x" * ((1 << 20) - 2))
producer.append_json("note", " " + "9" * 5000 + "\\n")
print(producer.close())
print(failure(lambda: Producer(given["internal"], given["key"] + "\\n", given["session"])))
`,
      place(session),
    );
    expect(printed).toMatch(/^too_large: [^\n]*\n2\nmalformed: the key or token is no single word[^\n]*\n$/);
    expect(printed).not.toContain(gateway.key);
  });
});

describe('the Python reader', () => {
  it('reads numbers that are too long for an int, and goes on behind them', async () => {
    const session = freshId();
    await createSession(gateway, session);
    const long = '9'.repeat(5_000);
    const events = `{"events":[{"type":"a","data":${long}},{"type":"a","data":2}]}`;
    await call(gateway, 'POST', `/internal/sessions/${session}/events`, events);
    await closeSession(gateway, session);
    const printed = await runPython(`${following}\nprint(*(event["data"] for event in events()))`, place(session));
    expect(printed).toBe(`${long} 2\n`);
  });

  it('mints tokens that say when they were issued, so that a revocation before does not end them', async () => {
    const program = `
from ledgerline import mint_token
print(mint_token(given["secret"], sub="maya", sessions=["*"], ttl_seconds=60))
`;
    const { iat = 0, exp = 0 } = decodeJwt((await runPython(program, place('any'))).trim());
    expect(exp - iat).toBe(60);
  });

  it('reads all of a session to its end, from anywhere, by a token that it mints', async () => {
    const session = freshId();
    await createSession(gateway, session);
    const append = (data: unknown) =>
      call(gateway, 'POST', `/internal/sessions/${session}/events`, JSON.stringify({ events: [{ type: 'a', data }] }));
    await append({ text: 'é' });
    await append(2);
    const live = startPython(
      `${following}
for event in events(on_control=lambda name, data: print(name, flush=True)):
    print(event["sequence"], event["data"], flush=True)
`,
      place(session),
    );
    await eventually('it has caught up', () => live.stdout().includes('connected'));
    await append(3);
    await eventually('it sees what comes', () => live.stdout().includes('3 3'));
    await closeSession(gateway, session);
    const lines = (await live.printed).split('\n').filter((text) => !text.startsWith('sync'));
    expect(lines).toEqual(['hello', "1 {'text': 'é'}", '2 2', 'connected', '3 3', 'end', '']);
    const rest = `${following}\nprint([event["sequence"] for event in events(after=given["after"])])`;
    expect(await runPython(rest, place(session, { after: 2 }))).toBe('[3]\n');
    expect(await runPython(rest, place(session, { after: 3 }))).toBe('[]\n');
    const refused = `${following}
try:
    next(events())
except LedgerlineError as error:
    print(error.code)
`;
    expect(await runPython(refused, place(freshId()))).toBe('session_unknown\n');
  });
});

it('a Python and a Node producer lose and repeat nothing while one of two gateways after the other is killed', async () => {
  const internal = await startBalancer(gateways.map(({ internalUrl }) => internalUrl));
  const open = await startBalancer(gateways.map(({ publicUrl }) => publicUrl));
  const [python, node] = [freshId(), freshId()];
  const count = 1_500;
  const there = { ...place(python), internal: internal.url, public: open.url, count };
  const producing_ = startPython(
    `${producing}
with produce(producer="py") as producer:
    for index in range(1, given["count"] + 1):
        producer.append("text.delta" if index % 3 else "note", index)
        if index % 5 == 0:
            producer.flush()
`,
    there,
  );
  await eventually(
    'the session is there',
    async () => (await call(gateway, 'GET', `/sessions/${python}`)).status === 200,
  );
  const reading = startPython(`${following}\nprint([event["data"] for event in events()])`, there);
  const producer = createProducer({ url: internal.url, key: gateway.key, session: node, producer: 'js', create: true });
  const writing = (async () => {
    for (const index of countTo(count)) {
      await producer.append(index % 3 === 0 ? 'note' : 'text.delta', index);
      if (index % 5 === 0) await producer.flush();
    }
    return producer.close();
  })();
  for (const [turn, victim] of [gateways[1]!, gateways[0]!, gateways[1]!].entries()) {
    const other = gateways.find((each) => each !== victim)!;
    await eventually(
      `both are under way for the ${turn + 1}. time`,
      async () => {
        const heads = await Promise.all(
          [python, node].map(async (session) => {
            const { text } = await call(other, 'GET', `/sessions/${session}`);
            return (JSON.parse(text) as { head: number }).head;
          }),
        );
        return heads.every((head) => head > ((turn + 1) * count) / 5);
      },
      60_000,
    );
    await victim.restart(); // kills it first
  }
  expect(await writing).toEqual({ last: count });
  await producing_.printed;
  expect((await stored(python)).map(({ data }) => data)).toEqual(countTo(count));
  expect((await stored(node)).map(({ data }) => data)).toEqual(countTo(count));
  await closeSession(gateway, python);
  expect(JSON.parse(await reading.printed)).toEqual(countTo(count));
  await Promise.all([internal.stop(), open.stop()]);
}, 180_000);
