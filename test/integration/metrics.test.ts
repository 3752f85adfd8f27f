/** What an operator counts is what happened. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { call, createSession } from '../support/gateway-calls.ts';
import { startInProcessGateway } from '../support/in-process-gateway.ts';
import type { InProcessGateway } from '../support/in-process-gateway.ts';

let gateway: InProcessGateway;
beforeAll(async () => {
  gateway = await startInProcessGateway();
});
afterAll(() => gateway.stop());

test('each append is counted once, by its outcome, and each of its events once', async () => {
  await createSession(gateway, 's');
  const append = (events: object[]) =>
    call(gateway, 'POST', '/internal/sessions/s/events', JSON.stringify({ expectedHead: 0, events }));
  const two = [
    { type: 'note', data: 1 },
    { type: 'note', data: 2 },
  ];
  expect((await append(two)).status).toBe(201);
  expect((await append(two)).status).toBe(409);

  const { text } = await call(gateway, 'GET', '/metrics');
  expect(text).toMatch(/^ledgerline_appends_total\{outcome="appended"\} 1$/m);
  expect(text).toMatch(/^ledgerline_appends_total\{outcome="wrong_head"\} 1$/m);
  expect(text).toMatch(/^ledgerline_appended_events_total 2$/m);
  expect(text).toMatch(/^ledgerline_append_seconds_count 1$/m);
});
