/** A server inside another program starts, serves, logs and stops as that program asks, and takes nothing else of its process. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type ServerOptions, createServer } from '../../src/server.ts';
import { appendNumbers, newSession } from '../support/session-calls.ts';
import { type FreshDatabase, freshDatabase } from '../support/services.ts';

const KEY = 'a-key-of-the-tests-that-is-long-enough';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database?.drop());

function create(options: Partial<ServerOptions> = {}) {
  const server = createServer({
    databaseUrl: database.url,
    tokenSecret: 'a secret of the tests, long enough for HS256',
    internalKey: KEY,
    publicHost: '127.0.0.1',
    publicPort: 0,
    internalPort: 0,
    drainMs: 5_000,
    goawayWindowMs: 0,
    logLevel: 'silent',
    ...options,
  });
  onTestFinished(() => server.stop());
  return server;
}

const isServing = (url: string): Promise<boolean> =>
  fetch(`${url}/healthz`).then(
    ({ ok }) => ok,
    () => false,
  );

test('it serves on both addresses until it is stopped, and adds no handler of signals or of defects', async () => {
  const heard = () =>
    ['SIGINT', 'SIGTERM', 'uncaughtException', 'unhandledRejection'].map((name) => process.listenerCount(name));
  const before = heard();
  const server = create();
  await Promise.all([server.start(), server.start()]);
  expect(heard()).toEqual(before);
  const { publicUrl, internalUrl } = server;
  expect(await Promise.all([isServing(publicUrl), isServing(internalUrl)])).toEqual([true, true]);
  await appendNumbers({ internalUrl, key: KEY }, await newSession({ internalUrl, key: KEY }), 3);
  await Promise.all([server.stop(), server.stop()]);
  expect(await Promise.all([isServing(publicUrl), isServing(internalUrl)])).toEqual([false, false]);
  await expect(server.start()).rejects.toMatchObject({ code: 'draining' });
});

test('a stop while it starts ends the start', async () => {
  const server = create();
  const [started, stopped] = await Promise.allSettled([server.start(), server.stop()]);
  expect(started).toMatchObject({ status: 'rejected', reason: { code: 'draining' } });
  expect(stopped.status).toBe('fulfilled');
  expect(() => server.publicUrl).toThrow('has not started');
});

test('stopped before its start it never starts', async () => {
  const server = create();
  await server.stop();
  await expect(server.start()).rejects.toMatchObject({ code: 'draining' });
});

test('an older database is refused, or brought up to date where that is asked for', async () => {
  const empty = await freshDatabase({ isEmpty: true });
  onTestFinished(() => empty.drop());
  const refused = create({ databaseUrl: empty.url });
  await expect(refused.start()).rejects.toMatchObject({ code: 'unavailable' });
  await refused.stop();
  const server = create({ databaseUrl: empty.url, migrate: true });
  await server.start();
  expect(await isServing(server.publicUrl)).toBe(true);
});

test('a port that is taken is told, and what had started is stopped', async () => {
  const first = create();
  await first.start();
  const second = create({ publicPort: Number(new URL(first.publicUrl).port) });
  await expect(second.start()).rejects.toMatchObject({ code: 'configuration' });
  await second.stop();
  expect(await isServing(first.publicUrl)).toBe(true);
});

test('its log goes where the program wants it, a line of JSON at a time', async () => {
  const lines: string[] = [];
  const server = create({ logLevel: 'info', log: { write: (line) => lines.push(line) } });
  await server.start();
  await newSession({ internalUrl: server.internalUrl, key: KEY });
  await server.stop();
  expect(lines.filter((line) => !line.endsWith('\n'))).toEqual([]);
  expect(lines.map((line) => JSON.parse(line) as object)).toContainEqual(expect.objectContaining({ status: 201 }));
});
