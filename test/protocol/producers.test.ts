/** How far a producer has come: what it asks when it does not know what became of its last append. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { caller, event, freshId, startDeployment } from '../support/deployment.ts';
import type { Caller, Deployment } from '../support/deployment.ts';

let deployment: Deployment;
let call: Caller;
beforeAll(async () => {
  deployment = await startDeployment();
  call = caller(deployment);
});
afterAll(() => deployment.stop());

const ask = (session: string, producer: string) =>
  call.internal('GET', `/internal/sessions/${session}/producers/${producer}`);
const append = (session: string, id: string, sequence: number, count: number) =>
  call.internal(
    'POST',
    `/internal/sessions/${session}/events`,
    `{"producer":{"id":"${id}","sequence":${sequence}},"events":[${Array<string>(count).fill(event('1')).join(',')}]}`,
  );

describe('how far a producer has come', () => {
  it('is 0 before its first event', async () => {
    const session = await call.session();
    const answer = await ask(session, 'p');
    expect([answer.status, answer.json]).toEqual([200, { counter: 0, first: null, last: null }]);
    expect(answer.headers.get('ledgerline-protocol')).toBe('1');
  });

  it('is its last stored counter, with the sequences of its first and its last event, whoever else appends', async () => {
    const session = await call.session();
    await call.append(session, event('1'));
    await append(session, 'a:1.x', 1, 3);
    await append(session, 'b', 7, 2);
    await append(session, 'a:1.x', 4, 1);
    expect((await ask(session, 'a:1.x')).json).toEqual({ counter: 4, first: 2, last: 7 });
    expect((await ask(session, 'b')).json).toEqual({ counter: 8, first: 5, last: 6 });
    expect((await ask(session, 'A:1.x')).json).toEqual({ counter: 0, first: null, last: null });
  });

  it('is told of a closed session, too', async () => {
    const session = await call.session();
    await append(session, 'p', 1, 2);
    await call.internal('POST', `/sessions/${session}/close`);
    expect((await ask(session, 'p')).json).toEqual({ counter: 2, first: 1, last: 2 });
  });

  it('is not told of a session that is not there, or not any more, nor of what is no producer', async () => {
    const session = await call.session();
    expect((await ask(session, 'a%20b')).json).toMatchObject({
      type: 'urn:ledgerline:problem:malformed',
      where: 'producer',
    });
    await call.internal('DELETE', `/sessions/${session}`);
    expect((await ask(session, 'p')).json).toMatchObject({ type: 'urn:ledgerline:problem:session_deleted' });
    expect((await ask(freshId(), 'p')).json).toMatchObject({ type: 'urn:ledgerline:problem:session_unknown' });
  });

  it('is told to producers alone', async () => {
    const session = await call.session();
    const path = `/internal/sessions/${session}/producers/p`;
    expect((await call.reader('GET', path)).status).toBe(404);
    expect((await call.internal('GET', path, undefined, { authorization: 'Bearer no' })).status).toBe(401);
    const other = await call.internal('POST', path, '{}');
    expect([other.status, other.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
  });
});
