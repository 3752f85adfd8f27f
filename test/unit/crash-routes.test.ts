/** The routes of the crash lab: who may, what they take, and what they answer. */
import { afterEach, describe, expect, it } from 'vitest';
import { createLab } from '../../src/lab/lab.ts';
import type { CrashLab, CrashPlan, CrashRun } from '../../src/lab/crash-lab.ts';
import { manualClock } from '../support/manual-clock.ts';
import { startStubGateway } from '../support/stub-gateway.ts';
import type { StubGateway } from '../support/stub-gateway.ts';

let gateway: StubGateway;
let plans: CrashPlan[];
afterEach(() => gateway.stop());

/** Its runs are over when `end` is called. */
async function setUp({ has = true } = {}): Promise<{ end: () => void }> {
  plans = [];
  let newest: CrashRun | undefined;
  const crashLab: CrashLab = {
    newest: () => newest,
    begin(plan) {
      if (newest?.state === 'preparing') return newest;
      plans.push(plan);
      newest = {
        ...plan,
        id: `run-${plans.length}`,
        state: 'preparing',
        notes: [],
        before: undefined,
        after: undefined,
        verdict: undefined,
        problem: undefined,
      };
      return newest;
    },
  };
  const lab = createLab({ clock: manualClock(), restartGateway: () => undefined });
  gateway = await startStubGateway({ lab, ...(has ? { crashLab } : {}) });
  return { end: () => void (newest = newest && { ...newest, state: 'over', verdict: { kind: 'once' } }) };
}

async function ask(body?: unknown, token: Parameters<StubGateway['token']>[0] = {}) {
  const answer = await fetch(`${gateway.publicUrl}/lab/crash`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${await gateway.token(token)}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

const plan = { point: 'refund_committed', without: ['step_key'] };
const begun = { run: { ...plan, id: 'run-1', state: 'preparing', notes: [] } };
const problem = (status: number, code: string) => ({
  status,
  body: expect.objectContaining({ type: `urn:ledgerline:problem:${code}` }),
});

describe('the crash lab', () => {
  it('has no run before one is begun, and then the newest', async () => {
    const lab = await setUp();
    expect(await ask()).toEqual({ status: 200, body: { run: null } });
    expect(await ask(plan)).toEqual({ status: 202, body: begun });
    expect(await ask()).toEqual({ status: 200, body: begun });
    lab.end();
    expect((await ask()).body).toEqual({ run: { ...begun.run, state: 'over', verdict: { kind: 'once' } } });
  });

  it('answers with the run that is under way, and begins another one when that is over', async () => {
    const lab = await setUp();
    await ask(plan);
    expect(await ask({ point: 'nowhere', without: [] })).toEqual({ status: 200, body: begun });
    lab.end();
    const next = await ask({ point: 'nowhere', without: [] });
    expect(next).toMatchObject({ status: 202, body: { run: { id: 'run-2', point: 'nowhere' } } });
    expect(plans).toEqual([plan, { point: 'nowhere', without: [] }]);
  });

  it('is not there where a lab has none', async () => {
    await setUp({ has: false });
    expect(await ask()).toEqual(problem(404, 'not_found'));
    expect(await ask(plan)).toEqual(problem(404, 'not_found'));
  });
});

describe('the crash lab refuses', () => {
  it('whoever has no token, and a token without the scope write', async () => {
    await setUp();
    for (const method of ['GET', 'POST']) {
      expect((await fetch(`${gateway.publicUrl}/lab/crash`, { method })).status, method).toBe(401);
    }
    const token = { scope: 'read send create' };
    expect(await ask(undefined, token)).toEqual(problem(403, 'forbidden'));
    expect(await ask(plan, token)).toEqual(problem(403, 'forbidden'));
    expect(plans).toEqual([]);
  });

  it.each([
    '',
    '[]',
    {},
    { point: 'nowhere' },
    { without: [] },
    { point: 'somewhere', without: [] },
    { point: 'nowhere', without: 'inbox' },
    { point: 'nowhere', without: ['fence'] },
    { point: 'nowhere', without: ['inbox', 'inbox'] },
    { point: 'nowhere', without: [], session: 's1' },
    '{"point":"nowhere","point":"refund_written","without":[]}',
  ])('the body %j', async (body) => {
    await setUp();
    expect(await ask(body)).toEqual(problem(400, 'malformed'));
    expect(plans).toEqual([]);
  });
});
