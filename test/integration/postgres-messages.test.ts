/** What Postgres says arrives whole over a real socket, however long it is, and a connection that ends within it costs that statement alone. */
import { connect as connectSocket, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { silentLog } from '../../src/base/log.ts';
import { createPool } from '../../src/db/pool.ts';
import { connect, disconnect } from '../../src/db/postgres.ts';
import { withSql } from '../support/ledger.ts';
import { freshDatabase } from '../support/services.ts';
import type { FreshDatabase } from '../support/services.ts';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

test('long and short answers on several connections at once come as they were said', async () => {
  await withSql(
    database.url,
    async (sql) => {
      const asked = Array.from({ length: 40 }, (_, index) => ({
        letter: 'abcdefgh'[index % 8],
        length: 3 ** (index % 14),
      }));
      const said = await Promise.all(
        asked.map(async ({ letter, length }) => {
          const [row] = await sql<{ text: string }[]>`select repeat(${letter ?? ''}::text, ${length}::int) as text`;
          return row?.text === letter?.repeat(length);
        }),
      );
      expect(said).toEqual(asked.map(() => true));
    },
    4,
  );
});

test('a connection that asks for TLS and is refused it speaks without', async () => {
  const sql = connect({ url: `${database.url}?sslmode=prefer`, connections: 1, name: 'test', log: silentLog });
  onTestFinished(() => disconnect(sql, 1_000));
  expect(await sql`select 1 as one`).toEqual([{ one: 1 }]);
});

/** Carries everything until `cutAfter` has a number: then so many bytes of what the server says next, and the end. */
async function openWire(end: (client: Socket) => void) {
  const { hostname, port } = new URL(database.url);
  const wire: { url: string; cutAfter: number | undefined } = { url: '', cutAfter: undefined };
  const server = createServer((client) => {
    const upstream = connectSocket(Number(port), hostname);
    for (const socket of [client, upstream]) socket.on('error', () => undefined); // a cut is what this is for
    client.on('data', (bytes) => upstream.write(bytes));
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
    upstream.on('data', (bytes) => {
      if (wire.cutAfter === undefined) return void client.write(bytes);
      const passed = bytes.subarray(0, wire.cutAfter);
      wire.cutAfter -= passed.length;
      client.write(passed);
      if (wire.cutAfter > 0) return;
      wire.cutAfter = undefined;
      upstream.pause();
      end(client);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const url = new URL(database.url);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);
  wire.url = url.href;
  return wire;
}

test.each([
  ['ends', 3, (client: Socket) => client.destroySoon()],
  ['ends', 100_000, (client: Socket) => client.destroySoon()],
  ['is reset', 3, (client: Socket) => client.resetAndDestroy()],
  ['is reset', 100_000, (client: Socket) => client.resetAndDestroy()],
] as const)('a connection that %s %i bytes into an answer costs that statement alone', async (_, bytes, end) => {
  const wire = await openWire(end);
  const pool = createPool({ url: wire.url, connections: 1, name: 'test', log: silentLog, deadlineMs: 10_000 });
  onTestFinished(() => pool.close(1_000));
  const ask = () =>
    pool.run('asking', (sql) => sql`select length(repeat('x', 1000000)) as length, repeat('x', 1000000)`);
  expect(await ask()).toMatchObject([{ length: 1_000_000 }]);
  wire.cutAfter = bytes;
  await expect(ask()).rejects.toMatchObject({ code: 'unavailable' });
  expect(await ask()).toMatchObject([{ length: 1_000_000 }]);
});
