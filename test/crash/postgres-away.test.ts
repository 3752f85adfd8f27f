/** Postgres down, frozen, or without its connections: quick and honest refusals, open streams that go on, and a way back. */
import { expect, it } from 'vitest';
import { append, call, codeOf } from '../support/gateway-calls.ts';
import type { CallAnswer } from '../support/gateway-calls.ts';
import { countTo, storedRows, withSql } from '../support/ledger.ts';
import { database, follower, fragilePostgres, freshSession, gateway } from '../support/stage.ts';
import { eventually } from '../support/waits.ts';

/** In ordinary operation; a test that meets them is generous. */
const TRIES = 500;

it('while Postgres is down appends are refused, browsers are told to come back, and open streams stay open and go on', async () => {
  const postgres = await fragilePostgres();
  const at = await gateway({ databaseUrl: postgres.databaseUrl, natsUrl: null });
  const session = await freshSession(at);
  const reader = follower('plain', at, { session });
  expect((await append(at, session, '1')).status).toBe(201);
  await eventually('the reader is live', () => reader.sequences().length === 1);

  await postgres.kill();
  const connect = (headers: Record<string, string> = {}): Promise<CallAnswer> =>
    call(at, 'GET', `/sessions/${session}/stream`, undefined, headers);
  for (const _ of countTo(3)) {
    const refused = await append(at, session, '"lost"');
    expect([refused.status, codeOf(refused)]).toEqual([503, 'unavailable']);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
  }
  expect((await call(at, 'GET', '/readyz')).status).toBe(503);
  expect((await call(at, 'GET', '/healthz')).status).toBe(200);
  const strict = await connect({ prefer: 'handling=strict' });
  expect([strict.status, codeOf(strict)]).toEqual([503, 'unavailable']);
  // any other status ends a browser's EventSource for ever [Yaffle#88]
  const browser = await connect();
  expect(browser.status).toBe(200);
  expect(browser.text).toMatch(/^retry: \d+\n\n$/);

  await postgres.restart();
  let tries = 0;
  await eventually('an append is stored again', async () => {
    tries += 1;
    return (await append(at, session, '2')).status === 201;
  });
  expect(tries).toBeLessThan(TRIES);
  await eventually('it is ready again', async () => (await call(at, 'GET', '/readyz')).status === 200);
  await eventually('the open stream has gone on', () => reader.sequences().length >= 2);
  expect(reader.sequences()).toEqual([1, 2]);
  expect(reader.reconnects()).toBe(0);
  const stored = await storedRows(postgres.databaseUrl, session);
  expect(stored.map(({ data }) => data)).toEqual(['1', '2']);
});

it('a browser that first comes while Postgres is frozen comes back by itself, and nothing hangs', async () => {
  const postgres = await fragilePostgres();
  const at = await gateway({ databaseUrl: postgres.databaseUrl, natsUrl: null });
  const session = await freshSession(at);
  const open = follower('plain', at, { session });
  expect((await append(at, session, '1')).status).toBe(201);
  await eventually('the open stream is live', () => open.sequences().length === 1);

  postgres.freeze();
  const late = follower('browser', at, { session });
  const strict = await call(at, 'GET', `/sessions/${session}/stream`, undefined, { prefer: 'handling=strict' });
  expect([strict.status, codeOf(strict)]).toEqual([503, 'unavailable']);
  expect((await call(at, 'GET', '/readyz')).status).toBe(503);
  await eventually('the browser was sent away', () => late.reconnects() >= 0);
  postgres.thaw();

  await eventually('an append is stored again', async () => (await append(at, session, '2')).status === 201);
  await eventually('both readers have it', () => [open, late].every((reader) => reader.sequences().includes(2)));
  const stored = await storedRows(postgres.databaseUrl, session);
  for (const reader of [open, late]) {
    await eventually('the reader equals the ledger', () => reader.sequences().length >= stored.length);
    expect(reader.sequences()).toEqual(countTo(stored.length));
  }
  expect(open.reconnects()).toBe(0);
  expect(late.ended()).toBeUndefined();
});

it('when every connection to Postgres is ended under load nothing acknowledged is lost, and it recovers by itself', async () => {
  const { url } = await database();
  const at = await gateway({ databaseUrl: url, natsUrl: null });
  const session = await freshSession(at);
  const reader = follower('plain', at, { session });
  const acknowledged: string[] = [];
  const others = new Set<string>();
  let isOver = false;
  const load = countTo(20).map(async (writer) => {
    for (let index = 0; !isOver; index++) {
      const payload = `"${writer}-${index}"`;
      const answer = await append(at, session, payload);
      if (answer.status === 201) acknowledged.push(payload);
      else others.add(`${answer.status} ${codeOf(answer)}`);
    }
  });
  const grows = (by: number): Promise<unknown> => {
    const before = acknowledged.length;
    return eventually(`${by} more appends are stored`, () => acknowledged.length >= before + by);
  };
  await grows(100);
  for (const _ of countTo(5)) {
    const ended = await withSql(
      url,
      (sql) => sql`
      select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid()`,
    );
    expect(ended.length).toBeGreaterThan(0);
    await grows(100);
  }
  isOver = true;
  await Promise.all(load);

  expect([...others].filter((other) => !['503 unavailable', '503 append_unknown'].includes(other))).toEqual([]);
  const stored = await storedRows(url, session);
  expect(stored.map(({ sequence }) => sequence)).toEqual(countTo(stored.length));
  const payloads = stored.map(({ data }) => data);
  expect(new Set(payloads).size, 'nothing is stored twice').toBe(payloads.length);
  const missing = new Set(acknowledged);
  for (const payload of payloads) missing.delete(payload);
  expect([...missing], 'whatever was acknowledged is stored').toEqual([]);
  await eventually('the reader has it all', () => reader.sequences().length >= stored.length);
  expect(reader.sequences()).toEqual(countTo(stored.length));
  expect((await call(at, 'GET', '/readyz')).status).toBe(200);
});

it.each(['down', 'frozen'] as const)('SIGTERM ends a gateway with 0 while Postgres is %s', async (how) => {
  const postgres = await fragilePostgres();
  const at = await gateway({
    databaseUrl: postgres.databaseUrl,
    natsUrl: null,
    environment: { LEDGERLINE_DRAIN_MS: '2000', LEDGERLINE_GOAWAY_WINDOW_MS: '100' },
  });
  const session = await freshSession(at);
  const reader = follower('plain', at, { session });
  expect((await append(at, session, '1')).status).toBe(201);
  await eventually('the reader is live', () => reader.sequences().length === 1);
  if (how === 'down') await postgres.kill();
  else postgres.freeze();
  // one that waits for its commit meanwhile; it is answered, or its connection ends with the process
  const inFlight = append(at, session, '2').then(
    (answer) => answer.status,
    () => 'cut',
  );
  await eventually('it says that it is not ready', async () => (await call(at, 'GET', '/readyz')).status === 503);
  // its limit is two seconds; whatever is still unanswered then must not keep the process
  let code: number | undefined;
  void at.terminate().then((value) => (code = value));
  await eventually('the gateway has ended', () => code !== undefined, 15_000);
  expect(code).toBe(0);
  expect([503, 'cut']).toContain(await inFlight);
  postgres.thaw();
});
