/** SIGTERM under an open stream of events: its producer is told, what was acknowledged is stored, and it goes on at the other gateway. */
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { call } from '../support/gateway-calls.ts';
import { countTo, storedRows } from '../support/ledger.ts';
import { line, openNdjson } from '../support/ndjson-call.ts';
import type { NdjsonCall } from '../support/ndjson-call.ts';
import { database, freshSession, gateways } from '../support/stage.ts';
import type { RunningGateway } from '../support/gateway.ts';
import { eventually } from '../support/waits.ts';

const acknowledged = (stream: NdjsonCall): number =>
  Math.max(0, ...stream.lines().map(({ counter }) => (typeof counter === 'number' ? counter : 0)));

/** One line after the other, for as long as the server takes them; resolves with the number of the last one. */
async function write(stream: NdjsonCall, from: number, to = Infinity): Promise<number> {
  let counter = from - 1;
  while (counter < to && !stream.isOver && stream.lines().at(-1)?.['end'] === undefined) {
    stream.write(line(String((counter += 1))));
    await turn();
  }
  return counter;
}

it('a stream that ends because its server goes away is whole, and goes on at another: nothing is lost or twice', async () => {
  const { url } = await database();
  const [leaving, staying] = (await gateways(2, { databaseUrl: url })) as [RunningGateway, RunningGateway];
  const session = await freshSession(leaving);
  const stream = openNdjson(leaving, session, 'producer=p&sequence=1');
  stream.request.on('error', () => undefined); // it writes on until it has read the last line
  const writing = write(stream, 1);
  await eventually('some of it is stored', () => acknowledged(stream) >= 10);
  const exit = leaving.terminate();
  await eventually('it ends', () => stream.isOver);
  expect(stream.lines().at(-1), 'it is told why, though it writes without a pause').toEqual({ end: 'draining' });
  const last = (await writing) + 10;
  expect(await exit).toBe(0);

  const { text } = await call(staying, 'GET', `/internal/sessions/${session}/producers/p`);
  const { counter } = JSON.parse(text) as { counter: number };
  expect(counter).toBe(acknowledged(stream));
  const again = openNdjson(staying, session, `producer=p&sequence=${counter + 1}`);
  await write(again, counter + 1, last);
  await again.end();
  expect(again.lines().at(-1)).toEqual({ end: 'complete' });
  expect((await storedRows(url, session)).map(({ data }) => Number(data))).toEqual(countTo(last));
});
