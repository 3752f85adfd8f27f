/** What a session's effects have others told: listed for whoever may read the session, page by page, without what is said. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { caller, startDeployment } from '../support/deployment.ts';
import type { Caller, Deployment } from '../support/deployment.ts';
import { expectProblem, turnCaller } from '../support/turn-calls.ts';
import type { Claimed, TurnCaller } from '../support/turn-calls.ts';

let deployment: Deployment;
let call: Caller;
let turns: TurnCaller;
beforeAll(async () => {
  deployment = await startDeployment();
  call = caller(deployment);
  turns = turnCaller(call);
});
afterAll(() => deployment.stop());

const refund = { tool: 'refund', effect: 'keyed', args: { cents: 4_000 } };

/** A turn whose call has told others under so many topics. */
async function delivered(topics: readonly string[]): Promise<Claimed> {
  const session = await call.session();
  await turns.message(session, 'Refund me');
  const one = await turns.claim(session);
  const calls = [{ call: 'c', tool: refund.tool, args: refund.args }];
  await turns.step(one, 0, 'model', { request: 1, result: 1, calls });
  await turns.step(one, 1, 'start', refund);
  const deliveries = topics.map((topic) => ({ topic, payload: { secret: 1 } }));
  expect((await turns.step(one, 1, 'settle', { ...refund, result: 'fine', deliveries })).status).toBe(200);
  return one;
}

interface Page {
  readonly deliveries: readonly Record<string, unknown>[];
  readonly next: number | null;
}
const page = async (session: string, query = ''): Promise<Page> => {
  const answer = await call.reader('GET', `/sessions/${session}/deliveries${query}`);
  expect(answer.status).toBe(200);
  return answer.json as Page;
};

describe('the deliveries of a session', () => {
  it('say what was told, by which step, and what became of it, the newest first', async () => {
    const one = await delivered(['refund.issued', 'mail']);
    const { deliveries, next } = await page(one.session);
    const facts = {
      turn: one.turn,
      step: 1,
      attempts: 0,
      since: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as unknown,
      error: null,
      applied: [],
    };
    // A deployment may have a relay that is quicker.
    const state = expect.stringMatching(/^(?:waiting|published)$/) as unknown;
    expect(deliveries).toEqual([
      { ...facts, number: 2, topic: 'mail', state },
      { ...facts, number: 1, topic: 'refund.issued', state },
    ]);
    expect(next).toBeNull();
    const internal = await call.internal('GET', `/sessions/${one.session}/deliveries`);
    expect([internal.status, internal.text]).toEqual([200, expect.not.stringContaining('secret')]);
    await turns.stop(one.session);
  });

  it('come page by page, each once', async () => {
    const { session } = await delivered(['a', 'b', 'c', 'd', 'e']);
    for (const limit of [1, 2, 3, 5, 200]) {
      const seen: unknown[] = [];
      for (let before = ''; ;) {
        const { deliveries, next } = await page(session, `?limit=${limit}${before}`);
        expect(deliveries.length).toBeLessThanOrEqual(limit);
        seen.push(...deliveries.map(({ number }) => number));
        if (next === null) break;
        before = `&before=${next}`;
      }
      expect(seen).toEqual([5, 4, 3, 2, 1]);
    }
    expect(await page(session, '?before=1')).toEqual({ deliveries: [], next: null });
    expect((await page(session, '?before=9007199254740991')).deliveries).toHaveLength(5);
    await turns.stop(session);
  });

  it('are none of a session that told nobody anything, and HEAD answers as GET does', async () => {
    const session = await call.session();
    expect(await page(session)).toEqual({ deliveries: [], next: null });
    const head = await call.reader('HEAD', `/sessions/${session}/deliveries`);
    expect([head.status, head.text]).toEqual([200, '']);
  });

  it('are of a session that is there', async () => {
    const session = await call.session();
    await call.internal('DELETE', `/sessions/${session}`);
    const list = (id: string) => call.reader('GET', `/sessions/${id}/deliveries`);
    expectProblem(await list(session), 410, 'session_deleted');
    expectProblem(await list(`${session}-never`), 404, 'session_unknown');
  });

  it('are not listed from a place, or in a number, that is none', async () => {
    const session = await call.session();
    for (const query of [
      'before=0',
      'before=x',
      'before=',
      'before=1&before=2',
      'before=9007199254740992',
      'limit=0',
    ]) {
      expectProblem(await call.reader('GET', `/sessions/${session}/deliveries?${query}`), 400, 'malformed', {
        where: query.slice(0, query.indexOf('=')),
      });
    }
  });
});
