/** A session of somebody else's is answered as one that does not exist: in every byte, on every route, and no event of it leaves. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { caller, event, freshId, startDeployment } from '../support/deployment.ts';
import type { Caller, Deployment } from '../support/deployment.ts';
import { readStream } from '../support/sse-reader.ts';
import type { TokenOptions } from '../support/token.ts';

let deployment: Deployment;
let call: Caller;
const prefix = freshId();
/** Of these, three are there: one of nobody's, and one each of two owners'. */
const ids = ['a', 'a-1', 'a-2', 'b', 'b-1', 'c'].map((name) => `${prefix}-${name}`);
const owners: Readonly<Record<string, string | undefined>> = {
  [`${prefix}-a`]: undefined,
  [`${prefix}-a-1`]: 'maya',
  [`${prefix}-b`]: 'noor',
};
const isThere = (session: string): boolean => session in owners;

beforeAll(async () => {
  deployment = await startDeployment();
  call = caller(deployment);
  for (const [session, owner] of Object.entries(owners)) {
    await call.internal('POST', '/sessions', JSON.stringify({ session, ...(owner === undefined ? {} : { owner }) }));
    await call.append(session, event(JSON.stringify({ secretOf: session })));
  }
});
afterAll(() => deployment.stop());

const routes = [
  ['GET', ''],
  ['HEAD', ''],
  ['GET', '/events'],
  ['GET', '/stream'],
  ['HEAD', '/stream'],
  ['GET', '/stream?after=head'],
  ['GET', '/stream?ticket=x'],
  ['POST', '/tickets'],
  ['POST', '/messages', '{"key":"k","content":"x"}'],
  ['POST', '/decisions', '{"approval":"a","decision":"approved"}'],
  ['POST', '/stop', '{}'],
  ['POST', '/read', '{"sequence":1}'],
  ['POST', '/close'],
  ['DELETE', ''],
  ['POST', '/turns/t/retry'],
  ['POST', '/turns/t/steps/0/resolve', '{"outcome":"not_done","resume":false}'],
] as const;

/** All that a caller can see, but for the clock. */
async function seen(method: string, path: string, authorization: string, body?: string): Promise<unknown> {
  const answer = await fetch(deployment.publicUrl + path, {
    method,
    headers: { authorization, 'content-type': 'application/json', 'last-event-id': '1' },
    ...(body === undefined ? {} : { body }),
  });
  const headers = [...answer.headers].filter(([name]) => name !== 'date');
  return { status: answer.status, headers, text: await answer.text() };
}

describe('a session out of reach', () => {
  it.each(routes)('%s %s is as if it were not there', async (method, path, body?: string) => {
    for (const options of [
      { sessions: [`${prefix}-x*`] },
      { sessions: [], owner: 'noor' },
      { sessions: [`${prefix}-a`, `${prefix}-a-2*`], owner: 'Maya' },
      { sessions: [], scope: '' },
    ]) {
      const authorization = `Bearer ${await deployment.token(options)}`;
      const foreign = await seen(method, `/sessions/${prefix}-a-1${path}`, authorization, body);
      expect(foreign).toMatchObject({ status: 404 });
      expect(foreign).toEqual(await seen(method, `/sessions/${prefix}-c${path}`, authorization, body));
    }
  });

  it('stays as it was', async () => {
    const { json } = await call.internal('GET', `/sessions/${prefix}-a-1`);
    expect(json).toMatchObject({ state: 'open', head: 1, room: null });
  });
});

it('no event crosses, whatever the token and the session', async () => {
  const pattern = fc.constantFrom(...ids, `${prefix}-a*`, `${prefix}-a-*`, `${prefix}-b*`, `${prefix}*`, `${prefix}-A`);
  const token = fc.record({
    sessions: fc.array(pattern, { maxLength: 2 }),
    owner: fc.option(fc.constantFrom('maya', 'noor', 'other'), { nil: undefined }),
  });
  const property = fc.asyncProperty(token, fc.constantFrom(...ids), async ({ sessions, owner }, session) => {
    const options: TokenOptions = { sessions, ...(owner === undefined ? {} : { owner }) };
    const mayRead =
      sessions.some((each) => (each.endsWith('*') ? session.startsWith(each.slice(0, -1)) : each === session)) ||
      (owner !== undefined && owners[session] === owner);
    const history = await call.reader('GET', `/sessions/${session}/events`, { token: options });
    const authorization = `Bearer ${await deployment.token(options)}`;
    const stream = await readStream(`${deployment.publicUrl}/sessions/${session}/stream`, { authorization });
    const isServed = mayRead && isThere(session);
    expect([history.status, stream.status]).toEqual(isServed ? [200, 200] : [404, 404]);
    if (isServed) await stream.events(1);
    const told = [...new Set((history.text + stream.text()).match(/"secretOf":"[^"]+"/g))];
    expect(told).toEqual(isServed ? [`"secretOf":"${session}"`] : []);
    await stream.close();
  });
  await fc.assert(property, { numRuns: 100 });
}, 180_000);

it('a cursor of one session shows nothing of it on another', async () => {
  const authorization = `Bearer ${await deployment.token({ sessions: [`${prefix}-b`] })}`;
  await call.append(`${prefix}-a`, event('2'), event('3'));
  const reader = await readStream(`${deployment.publicUrl}/sessions/${prefix}-b/stream`, {
    authorization,
    'last-event-id': '3',
  });
  expect((await reader.frame('reset')).data).toContain('"ahead"');
  await reader.events(1);
  expect(reader.text()).not.toContain(`${prefix}-a`);
  await reader.close();
});
