/** An operator follows one event through the log, from its append to the sockets, by the lines that the documents show. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { call, createSession } from '../support/gateway-calls.ts';
import { startInProcessGateway } from '../support/in-process-gateway.ts';
import type { InProcessGateway } from '../support/in-process-gateway.ts';
import { documentedLines, membersOf, readableLog } from '../support/log-lines.ts';
import type { LogLine } from '../support/log-lines.ts';
import { line, openNdjson } from '../support/ndjson-call.ts';
import { readStream } from '../support/sse-reader.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const traceparent = `00-${traceId}-b7ad6b7169203331-01`;
const events = '/internal/sessions/:session/events';
const log = readableLog();
let gateway: InProcessGateway;
beforeAll(async () => {
  gateway = await startInProcessGateway({ log: log.log });
});
afterAll(() => gateway.stop());

/** What the documents show under this message, of this route if it is a request. */
function shown(heading: string, msg: string, route?: string): string[] {
  const found = documentedLines(heading).find((each) => each['msg'] === msg && each['route'] === route);
  return found === undefined ? [`no line ${msg} is shown`] : membersOf(found);
}

test('from its append over the broadcast and the sockets to the end of a reader’s stream', async () => {
  const heading = '### Following one event';
  await createSession(gateway, 's');
  const reader = await readStream(`${gateway.publicUrl}/sessions/s/stream`, {
    authorization: `Bearer ${await gateway.token()}`,
  });
  await reader.frame('connected');
  const body = JSON.stringify({
    events: [
      { type: 'note', data: 1 },
      { type: 'note', data: 'a secret' },
    ],
  });
  await call(gateway, 'POST', '/internal/sessions/s/events', body, { traceparent });
  const frames = await reader.events(2);
  await reader.close();

  const range = { session: 's', first: 1, last: 2 };
  const appended = await log.line({ msg: 'request', route: events, traceId, ...range });
  const broadcast = await log.line({ msg: 'broadcast', ...range });
  const delivered = await log.line({ msg: 'delivered', subscribers: 1, ...range });
  const opened = await log.line({ msg: 'request', route: '/sessions/:session/stream', after: 'start', head: 0 });
  const closed = await log.line({ msg: 'stream closed', requestId: opened['requestId'], cursor: 2, events: 2 });
  expect(closed).toMatchObject({ reason: 'disconnected' });
  expect(Number(closed['bytes'])).toBeGreaterThan(frames.reduce((sum, { data }) => sum + data.length, 0));
  expect(String(appended['transaction'])).toMatch(/^[1-9][0-9]*$/);

  const all: [LogLine, string?][] = [
    [opened, '/sessions/:session/stream'],
    [appended, events],
    [broadcast],
    [delivered],
    [closed],
  ];
  for (const [told, route] of all) expect(membersOf(told)).toEqual(shown(heading, String(told['msg']), route));
  expect(JSON.stringify(log.all())).not.toContain('a secret');
});

test('each batch of a stream of lines by the id of its request, and their sum in the request’s own line', async () => {
  const heading = '### Following one event';
  await createSession(gateway, 'lines');
  const producer = openNdjson(gateway, 'lines', 'producer=p&sequence=1', { traceparent });
  producer.write(line('1'));
  await producer.said({ counter: 1 });
  producer.write(line('2'));
  await producer.said({ counter: 2 });
  await producer.end();

  const request = await log.line({ msg: 'request', route: events, session: 'lines' });
  expect(request).toMatchObject({ traceId, first: 1, last: 2, lines: 2, end: 'complete' });
  const { requestId } = request;
  const batches = log.all().filter((each) => each['msg'] === 'appended' && each['requestId'] === requestId);
  expect(batches.map((batch) => [batch['first'], batch['last'], batch['traceId']])).toEqual([
    [1, 1, traceId],
    [2, 2, traceId],
  ]);
  for (const batch of batches) expect(membersOf(batch)).toEqual(shown(heading, 'appended'));
});

test('a broadcast that was given to nobody is no delivery', async () => {
  await createSession(gateway, 'unread');
  await call(gateway, 'POST', '/internal/sessions/unread/events', '{"events":[{"type":"note","data":1}]}');
  await log.line({ msg: 'broadcast', session: 'unread' });
  expect(log.all().filter((each) => each['msg'] === 'delivered' && each['session'] === 'unread')).toEqual([]);
});
