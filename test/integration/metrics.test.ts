/** What an operator counts is what happened, under labels that are closed sets. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { errorCodes } from '../../src/base/errors.ts';
import { call, createSession } from '../support/gateway-calls.ts';
import { startInProcessGateway } from '../support/in-process-gateway.ts';
import type { InProcessGateway } from '../support/in-process-gateway.ts';
import { line, openNdjson } from '../support/ndjson-call.ts';
import { readStream } from '../support/sse-reader.ts';
import { eventually } from '../support/waits.ts';

let gateway: InProcessGateway;
beforeAll(async () => {
  gateway = await startInProcessGateway();
});
afterAll(() => gateway.stop());

const metrics = async (): Promise<string> => (await call(gateway, 'GET', '/metrics')).text;
/** The value of one series; 0 before it is counted. */
const value = async (series: string): Promise<number> => {
  const found = (await metrics()).split('\n').find((each) => each.startsWith(`${series} `));
  return Number(found?.slice(series.length + 1) ?? 0);
};

test('each append is counted once, by its outcome, and each of its events once', async () => {
  await createSession(gateway, 's');
  const append = (events: object[]) =>
    call(gateway, 'POST', '/internal/sessions/s/events', JSON.stringify({ expectedHead: 0, events }));
  const two = [
    { type: 'note', data: 1 },
    { type: 'note', data: 22 },
  ];
  expect((await append(two)).status).toBe(201);
  expect((await append(two)).status).toBe(409);

  const text = await metrics();
  expect(text).toMatch(/^ledgerline_appends_total\{outcome="appended"\} 1$/m);
  expect(text).toMatch(/^ledgerline_appends_total\{outcome="wrong_head"\} 1$/m);
  expect(text).toMatch(/^ledgerline_appended_events_total 2$/m);
  expect(text).toMatch(/^ledgerline_appended_bytes_total 3$/m);
  expect(text).toMatch(/^ledgerline_append_seconds_count 1$/m);
});

test('what callers are refused is counted by its code', async () => {
  const before = await value('ledgerline_refusals_total{code="session_unknown"}');
  const found = await value('ledgerline_refusals_total{code="not_found"}');
  expect((await call(gateway, 'GET', '/sessions/nowhere')).status).toBe(404);
  expect((await call(gateway, 'GET', '/no-such-route')).status).toBe(404);
  expect(await value('ledgerline_refusals_total{code="session_unknown"}')).toBe(before + 1);
  expect(await value('ledgerline_refusals_total{code="not_found"}')).toBe(found + 1);
});

test('an append that streams is counted while it is open, with its lines, and with the problem that ends it', async () => {
  await createSession(gateway, 'lines');
  const producer = openNdjson(gateway, 'lines', 'producer=p&sequence=1');
  producer.write(line('1') + line('"two"'));
  await producer.said({ counter: 2 });
  const text = await metrics();
  expect(text).toMatch(/^ledgerline_append_streams 1$/m);
  expect(text).toMatch(/^ledgerline_append_lines_total 2$/m);
  expect(text).toMatch(/^ledgerline_append_line_bytes_total 6$/m);
  const refused = await value('ledgerline_refusals_total{code="malformed"}');
  producer.write('{"type":"a"}\n');
  await eventually('the stream has ended', () => producer.isOver);
  await eventually('it is not open', async () => (await value('ledgerline_append_streams')) === 0);
  expect(await value('ledgerline_refusals_total{code="malformed"}')).toBe(refused + 1);
});

test('how old a broadcast is when all its room was given it is measured once, however many readers there are', async () => {
  await createSession(gateway, 'read');
  const headers = { authorization: `Bearer ${await gateway.token()}` };
  const readers = await Promise.all(
    [1, 2, 3].map(() => readStream(`${gateway.publicUrl}/sessions/read/stream`, headers)),
  );
  for (const reader of readers) await reader.frame('connected');
  const before = await value('ledgerline_stream_lag_seconds_count');
  await call(gateway, 'POST', '/internal/sessions/read/events', '{"events":[{"type":"note","data":1}]}');
  for (const reader of readers) await reader.events(1);
  await eventually('it is measured', async () => (await value('ledgerline_stream_lag_seconds_count')) === before + 1);
  for (const reader of readers) await reader.close();
});

test('no label holds what a caller made up', async () => {
  const closed: Readonly<Record<string, RegExp>> = {
    code: new RegExp(`^(?:${errorCodes.join('|')})$`),
    route: /^(?:none|\/[a-z/:-]*)$/,
    status: /^[1-5][0-9][0-9]$/,
    le: /^(?:\+Inf|[0-9.e-]+)$/,
  };
  const words = /^[a-z_]+$/;
  const labels = [...(await metrics()).matchAll(/^ledgerline_(?!process_|nodejs_)[a-z_]+\{([^}]*)\}/gm)].flatMap(
    (match) => [...(match[1] ?? '').matchAll(/([a-z]+)="([^"]*)"/g)],
  );
  expect(labels.length).toBeGreaterThan(10);
  for (const [, name = '', text] of labels) expect(text).toMatch(closed[name] ?? words);
});
