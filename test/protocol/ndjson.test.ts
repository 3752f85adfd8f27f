/** A stream of events: one request for hours, told what is stored, resumed at the counter that its producer asks for. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toOneLine } from '../../src/event/slice.ts';
import { caller, event, freshId, startDeployment } from '../support/deployment.ts';
import type { Caller, Deployment } from '../support/deployment.ts';
import { line, openNdjson } from '../support/ndjson-call.ts';
import { eventually } from '../support/waits.ts';

let deployment: Deployment;
let call: Caller;
beforeAll(async () => {
  deployment = await startDeployment();
  call = caller(deployment);
});
afterAll(() => deployment.stop());

const history = async (session: string): Promise<string> =>
  (await call.internal('GET', `/sessions/${session}/events?limit=1000`)).text;
const counterOf = async (session: string, producer = 'p') =>
  ((await call.internal('GET', `/internal/sessions/${session}/producers/${producer}`)).json as { counter: number })
    .counter;

describe('a stream of events', () => {
  it('numbers them as appends do, and keeps every payload as it was sent [I2]', async () => {
    const session = await call.session();
    await call.append(session, event('0'));
    const payloads = [
      '{"n":9007199254740993,"b":1,"a":2,"b":3}',
      '"\\u0000"',
      '"\\ud83d"',
      '"\u2028"',
      '[ 1 , 2 ]',
      '""',
    ];
    const stream = openNdjson(deployment, session, 'producer=p&sequence=1');
    stream.write(payloads.map((data) => line(data)).join(''));
    await stream.end();
    expect(stream.lines().at(-2)).toMatchObject({ last: 7, counter: 6 });
    const text = await history(session);
    for (const data of payloads) expect(text).toContain(`"data":${toOneLine(data)}}`);
  });

  it('goes on at the counter that is asked for, whatever a cut left unclear [trigger.dev#2611]', async () => {
    const session = await call.session();
    const cut = openNdjson(deployment, session, 'producer=p&sequence=1');
    cut.write(line('1') + line('2'));
    await cut.said({ counter: 2 });
    cut.request.destroy();
    const again = openNdjson(deployment, session, `producer=p&sequence=${(await counterOf(session)) + 1}`);
    again.write(line('3'));
    await again.end();
    expect(again.lines()).toEqual([{ first: 3, last: 3, counter: 3 }, { end: 'complete' }]);
  });

  it('of two producers in one session mix, each counted for itself', async () => {
    const session = await call.session();
    const [one, other] = ['one', 'other'].map((id) => openNdjson(deployment, session, `producer=${id}&sequence=1`));
    for (let round = 1; round <= 20; round += 1) {
      one?.write(line('1'));
      other?.write(line('2'));
      await Promise.all([one?.said({ counter: round }), other?.said({ counter: round })]);
    }
    await Promise.all([one?.end(), other?.end()]);
    const { events } = JSON.parse(await history(session)) as { events: { sequence: number }[] };
    expect(events.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 40 }, (_, index) => index + 1));
    expect([await counterOf(session, 'one'), await counterOf(session, 'other')]).toEqual([20, 20]);
  });

  it('is refused in the middle of it where somebody else counts under its name [I8]', async () => {
    const session = await call.session();
    const stream = openNdjson(deployment, session, 'producer=p&sequence=1');
    stream.write(line('1'));
    await stream.said({ counter: 1 });
    const body = `{"producer":{"id":"p","sequence":2},"events":[${event('9')}]}`;
    await call.internal('POST', `/internal/sessions/${session}/events`, body);
    stream.write(line('2'));
    await stream.said({ type: 'urn:ledgerline:problem:producer_conflict', first: 2, last: 2 });
    await stream.end();
    expect(await counterOf(session)).toBe(2);
  });

  it('is the key’s, which nobody revokes: what ends the tokens of its session lets it be', async () => {
    const session = await call.session();
    const stream = openNdjson(deployment, session, 'producer=p&sequence=1');
    stream.write(line('1'));
    await stream.said({ counter: 1 });
    for (const body of [{ session }, { sub: 'internal' }]) {
      const { status } = await call.internal('POST', '/internal/revocations', JSON.stringify(body));
      expect(status).toBe(201);
    }
    stream.write(line('2'));
    await stream.said({ counter: 2 });
    await stream.end();
    expect(stream.lines().at(-1)).toEqual({ end: 'complete' });
  });

  it('ends with its session', async () => {
    const session = await call.session();
    const stream = openNdjson(deployment, session, 'producer=p&sequence=1');
    await stream.opened;
    await call.internal('POST', `/sessions/${session}/close`);
    stream.write(line('1'));
    await stream.said({ type: 'urn:ledgerline:problem:session_closed' });
    await eventually('the connection is closed', () => stream.isOver);
    expect(await openNdjson(deployment, freshId(), 'producer=p&sequence=1').opened).toBe(404);
  });
});
