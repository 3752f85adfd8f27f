/** `ledgerline relay` and `ledgerline deliveries` as an operator uses them. */
import { Readable } from 'node:stream';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { run as runProgram } from '../../src/cli/program.ts';
import { freePort } from '../../src/db/postgres-process.ts';
import { readOutboxFigures } from '../../src/outbox/outbox-row.ts';
import { streamOf } from '../../src/outbox/wire.ts';
import { freshRoot, onBroker, outboxStage } from '../support/outbox-stage.ts';
import type { OutboxStage } from '../support/outbox-stage.ts';
import { sharedNatsUrl } from '../support/services.ts';
import { eventually } from '../support/waits.ts';

let stage: OutboxStage;
let env: Record<string, string>;
beforeEach(async () => {
  stage = await outboxStage();
  env = {
    DATABASE_URL: stage.url,
    NATS_URL: sharedNatsUrl(),
    LEDGERLINE_NATS_SUBJECT_ROOT: freshRoot(),
    LEDGERLINE_LOG_LEVEL: 'silent',
  };
});

function start(...commandLine: readonly string[]) {
  const stopping = new AbortController();
  let stdout = '';
  let stderr = '';
  const code = runProgram(['node', 'ledgerline', ...commandLine], {
    env,
    folder: '.',
    input: Readable.from([]),
    output: {
      print: (text) => Promise.resolve(void (stdout += text)),
      note: (text) => void (stderr += `${text}\n`),
      isClosed: false,
    },
    stop: stopping.signal,
    clock: systemClock,
  });
  const result = async () => ({ code: await code, stdout, stderr });
  const stop = async () => {
    stopping.abort();
    return result();
  };
  onTestFinished(async () => void (await stop()));
  return { result, stop };
}

const run = (...commandLine: readonly string[]) => start('deliveries', ...commandLine).result();

const isOut = (): Promise<boolean> => eventually('everything is out', async () => (await stage.waiting()) === 0);

test('a relay publishes, shows its figures, and gives its shards up when it is asked to end', async () => {
  const port = await freePort();
  await stage.add('a', [1, 2, 3]);
  const relay = start('relay', '--port', String(port));
  await isOut();
  const figures = await eventually('the figures are there', async () => {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    return text.includes('ledgerline_delivery_publishes_total{outcome="published"} 3') && text;
  });
  expect(figures).toMatch(/^ledgerline_relay_shards 16$/m);
  expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200);
  expect(await relay.stop()).toMatchObject({ code: 0, stderr: '' });
  const owned = await stage.sql((sql) => sql`select from ledgerline.relay_shard where relay_id is not null`);
  expect(owned).toHaveLength(0);
});

test('a relay of a database that is not up to date says so', async () => {
  await stage.sql(async (sql) => {
    await sql`delete from ledgerline.migration where number = (select max(number) from ledgerline.migration)`;
  });
  expect(await start('relay').result()).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('ledgerline migrate'),
  });
});

test('deliveries that are not out are a table, or lines of JSON, in which nothing speaks to the terminal', async () => {
  expect(await run()).toEqual({ code: 0, stdout: '', stderr: 'every delivery is out\n' });
  await stage.add('a', [1, 2]);
  await stage.sql(async (sql) => {
    const error = JSON.stringify({ message: 'too\u001b[31m large\u0000' });
    await sql`
      update ledgerline.outbox set attempts = 3, last_error = ${error}::text::json, created_at = '2026-11-30T04:00:00Z'
       where outbox_sequence = 1`;
    await sql`update ledgerline.outbox set created_at = '2026-11-30T04:00:01Z' where outbox_sequence = 2`;
  });
  const { stdout } = await run();
  expect(stdout).toBe(
    [
      'SESSION  NUMBER  TOPIC  STATE    SINCE                     TRIES  ERROR',
      'a        1       topic  refused  2026-11-30T04:00:00.000Z  3      too [31m large',
      'a        2       topic  waiting  2026-11-30T04:00:01.000Z  0',
      '',
    ].join('\n'),
  );
  const lines = (await run('--json')).stdout.trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { session: 'a', outboxSequence: 1, state: 'refused', attempts: 3 },
    { session: 'a', outboxSequence: 2, state: 'waiting' },
  ]);
});

test('a delivery is given up and sent after all; what is not there is a failure', async () => {
  await stage.add('a', [1, 2]);
  expect(await run('skip', 'a', '1')).toEqual({
    code: 0,
    stdout: '',
    stderr: 'a: delivery 1 (topic) is given up\n',
  });
  start('relay');
  await isOut();
  expect((await stage.rows('a')).map((row) => row.state)).toEqual(['dead', 'published']);
  expect((await run()).stdout).toContain('skipped by an operator');
  expect(await run('redrive', 'a', '1')).toMatchObject({
    code: 0,
    stderr: 'a: delivery 1 (topic) will be published again\n',
  });
  await isOut();
  expect((await stage.rows('a')).map((row) => row.state)).toEqual(['published', 'published']);
  expect(await run('skip', 'a', '2')).toMatchObject({
    code: 1,
    stderr: 'ledgerline: a has no delivery 2, or it does not wait any more\n',
  });
  expect(await run('redrive', 'a', '9')).toMatchObject({
    code: 1,
    stderr: 'ledgerline: a has no delivery 9, or it was published more than a week ago\n',
  });
});

test('a dead delivery is acknowledged, and listed no more unless all are asked for', async () => {
  await stage.add('a', [1, 2]);
  expect(await run('ack', 'a', '1')).toMatchObject({
    code: 1,
    stderr: 'ledgerline: a has no delivery 1, or it is not dead: skip it first\n',
  });
  await run('skip', 'a', '1');
  const relay = start('relay');
  await isOut();
  expect(await run('ack', 'a', '1')).toEqual({
    code: 0,
    stdout: '',
    stderr: 'a: delivery 1 (topic) is acknowledged\n',
  });
  expect(await run('ack', 'a', '1')).toMatchObject({ code: 0 });
  expect(await run()).toEqual({ code: 0, stdout: '', stderr: 'every delivery is out\n' });
  expect((await run('--all')).stdout).toMatch(/^a +1 +topic +dead /m);
  const figures = () => stage.sql(readOutboxFigures);
  expect(await figures()).toMatchObject({ dead: 0 });
  // It may be sent all the same, and then it is no more what was acknowledged.
  await run('redrive', 'a', '1');
  await isOut();
  expect((await stage.rows('a')).map((row) => row.state)).toEqual(['published', 'published']);
  await relay.stop();
  await run('redrive', 'a', '1');
  await stage.sql(async (sql) => {
    await sql`update ledgerline.outbox set dead_at = clock_timestamp() where outbox_sequence = 1`;
  });
  expect(await figures()).toMatchObject({ dead: 1 });
});

test('a reconcile tells what the broker lost, and a running relay publishes it again', async () => {
  await stage.add('a', [1, 2]);
  start('relay');
  await isOut();
  expect(await run('reconcile')).toMatchObject({
    code: 0,
    stderr: 'compared 2 deliveries: the stream holds them all\n',
  });
  await onBroker(sharedNatsUrl(), ({ streams }) =>
    streams.purge(streamOf(String(env['LEDGERLINE_NATS_SUBJECT_ROOT']))),
  );
  expect(await run('reconcile')).toMatchObject({
    stderr: 'compared 2 deliveries: 2 are missing and will be published again\n',
  });
  await isOut();
  expect((await run('reconcile')).stderr).toContain('the stream holds them all');
});
