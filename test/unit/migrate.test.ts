/** What a migration says to Postgres before any SQL, and what it tells a person when Postgres will not have it. */
import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { silentLog } from '../../src/base/log.ts';
import { compareSchema, migrate } from '../../src/db/migrate.ts';

let server: Server;
/** The parameters of each connection's startup message: name, value, name … */
let startups: string[][];
let refusal: { code: string; message: string };

beforeEach(async () => {
  startups = [];
  refusal = { code: '28P01', message: 'password authentication failed for user "maya"' };
  server = createServer((socket) => {
    socket.once('data', (bytes) => {
      startups.push(bytes.toString('latin1', 8).split('\0'));
      const fields = `SFATAL\0VFATAL\0C${refusal.code}\0M${refusal.message}\0\0`;
      const head = Buffer.from('E\0\0\0\0');
      head.writeInt32BE(4 + fields.length, 1);
      socket.end(Buffer.concat([head, Buffer.from(fields)]));
    });
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(() => new Promise((resolve) => server.close(resolve)));

const url = () => `postgres://maya:hunter2@127.0.0.1:${(server.address() as AddressInfo).port}/app`;

it.each([
  ['28P01', 'password authentication failed for user "maya"'],
  ['3D000', 'database "app" does not exist'],
])('a refusal with %s is told as it is, and not as an absence', async (code, message) => {
  refusal = { code, message };
  await expect(migrate(url(), silentLog)).rejects.toMatchObject({
    code: 'unavailable',
    message: `Postgres refused: ${message}`,
  });
});

it('an absence is told with what the network says, so that a wrong name is no wrong port', async () => {
  const nowhere = url();
  await new Promise((resolve) => server.close(resolve));
  await expect(migrate(nowhere, silentLog)).rejects.toMatchObject({
    code: 'unavailable',
    message: 'Postgres is away (ECONNREFUSED), so its schema could not be seen to',
  });
});

it.each([
  ['migrating', migrate],
  ['comparing', compareSchema],
])('%s brings no settings to a pooler, which would refuse them', async (_, work) => {
  await expect(work(url(), silentLog, { prepare: false })).rejects.toThrow(refusal.message);
  const names = startups[0]?.filter((name, index) => name !== '' && index % 2 === 0);
  expect(names?.toSorted()).toEqual(['application_name', 'client_encoding', 'database', 'user']);
});
