/** The lab's routes: who may, what they take, and what they answer. */
import { afterEach, describe, expect, it } from 'vitest';
import { toCursor, toSequence } from '../../src/event/sequence.ts';
import type { Outcome } from '../../src/ledger/ledger.ts';
import { createLab } from '../../src/lab/lab.ts';
import { manualClock } from '../support/manual-clock.ts';
import { row, startStubGateway } from '../support/stub-gateway.ts';
import type { StubGateway, StubOptions } from '../support/stub-gateway.ts';

let gateway: StubGateway;
let restarts: number;
afterEach(() => gateway.stop());

async function setUp(sessions: StubOptions['sessions'] = {}) {
  restarts = 0;
  const lab = createLab({ clock: manualClock(), restartGateway: () => void (restarts += 1) });
  gateway = await startStubGateway({ lab, sessions });
  return lab;
}

async function ask(path: string, body?: unknown, token: Parameters<StubGateway['token']>[0] = {}) {
  const answer = await fetch(gateway.publicUrl + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${await gateway.token(token)}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

const faults = ['drop_next', 'drop_last_of_burst', 'stop_bus', 'restart_gateway'] as const;
const fault = (name: string, session = 's1') => ({ fault: name, session });
const problem = (status: number, code: string) => ({
  status,
  body: expect.objectContaining({ type: `urn:ledgerline:problem:${code}` }),
});
const appended = (sequence: number): Outcome => ({
  kind: 'appended',
  first: toSequence(sequence),
  last: toSequence(sequence),
  at: '2026-11-30T04:00:00.000Z',
});

describe('the lab', () => {
  it('says what it is doing', async () => {
    const lab = await setUp();
    expect(await ask('/lab')).toEqual({
      status: 200,
      body: { isHeadCheckPaused: false, isBusStopped: false, dropsNext: false },
    });
    lab.stopBus();
    expect(await ask('/lab/faults', fault('drop_next'))).toEqual({ status: 202, body: {} });
    expect(await ask('/lab/head-check', { isPaused: true })).toEqual({ status: 200, body: {} });
    expect((await ask('/lab')).body).toEqual({ isHeadCheckPaused: true, isBusStopped: true, dropsNext: true });
    await ask('/lab/head-check', { isPaused: false });
    expect((await ask('/lab')).body['isHeadCheckPaused']).toBe(false);
  });

  it('stops the bus and restarts the gateway on request', async () => {
    const lab = await setUp();
    expect(await ask('/lab/faults', fault('stop_bus'))).toEqual({ status: 202, body: {} });
    expect(lab.state.isBusStopped).toBe(true);
    expect(await ask('/lab/faults', fault('restart_gateway'))).toEqual({ status: 202, body: {} });
    expect(restarts).toBe(1);
  });

  it('appends a burst one by one', async () => {
    let count = 0;
    await setUp({ append: () => Promise.resolve(appended((count += 1))) });
    expect(await ask('/lab/faults', fault('drop_last_of_burst'))).toEqual({ status: 202, body: {} });
    expect(
      gateway.appends.map(({ session, events }) => [session, events.map(({ type, data }) => [type, data])]),
    ).toEqual([1, 2, 3, 4, 5].map((place) => ['s1', [['note', `{"text":"burst ${place} of 5"}`]]]));
  });

  it('gives marks after an id, once', async () => {
    const lab = await setUp();
    lab.unheard.publish('s1', { kind: 'events', first: toSequence(42), last: toSequence(42) });
    lab.observer.onRepaired('s1', { by: 'head', first: toSequence(42), last: toSequence(43) });
    const all = await ask('/lab/sessions/s1/marks');
    const marks = all.body['marks'] as { id: number }[];
    expect(all).toEqual({
      status: 200,
      body: {
        marks: [
          { id: marks[0]!.id, at: '2026-11-30T00:00:01.000Z', kind: 'lost', first: 42, last: 42 },
          { id: marks[1]!.id, at: '2026-11-30T00:00:01.000Z', kind: 'repaired', by: 'head', first: 42, last: 43 },
        ],
      },
    });
    expect((await ask(`/lab/sessions/s1/marks?after=${marks[0]!.id}`)).body['marks']).toEqual([marks[1]]);
    expect((await ask('/lab/sessions/s2/marks')).body['marks']).toEqual([]);
    for (const query of ['after=x', 'after=-1', 'after=1&after=2', 'after=007']) {
      expect(await ask(`/lab/sessions/s1/marks?${query}`), query).toEqual(problem(400, 'malformed'));
    }
  });
});

describe('the lab refuses', () => {
  it('whoever has no token', async () => {
    await setUp();
    for (const [method, path] of [
      ['GET', '/lab'],
      ['POST', '/lab/faults'],
      ['POST', '/lab/head-check'],
      ['GET', '/lab/sessions/s1/marks'],
    ] as const) {
      expect((await fetch(gateway.publicUrl + path, { method })).status, path).toBe(401);
    }
  });

  it('a token without the scope write', async () => {
    const lab = await setUp();
    const token = { scope: 'read create' };
    for (const [path, body] of [
      ['/lab', undefined],
      ['/lab/faults', fault('stop_bus')],
      ['/lab/head-check', { isPaused: true }],
      ['/lab/sessions/s1/marks', undefined],
    ] as const) {
      expect(await ask(path, body, token), path).toEqual(problem(403, 'forbidden'));
    }
    expect(lab.state).toEqual({ isHeadCheckPaused: false, isBusStopped: false, dropsNext: false });
  });

  it.each(faults)('%s for a session out of reach, or that is not there, in the same words', async (name) => {
    const lab = await setUp({ describe: (session) => Promise.resolve(session === 's1' ? row(session) : undefined) });
    const outOfReach = await ask('/lab/faults', fault(name), { sessions: ['other'] });
    expect(outOfReach).toEqual(problem(404, 'session_unknown'));
    expect(await ask('/lab/faults', fault(name, 's2'))).toEqual(outOfReach);
    expect([lab.state.dropsNext, lab.state.isBusStopped, restarts, gateway.appends.length]).toEqual([
      false,
      false,
      0,
      0,
    ]);
    expect(await ask('/lab/sessions/s1/marks', undefined, { sessions: ['other'] })).toEqual(outOfReach);
  });

  it('what would be lost of a session that is closed, and nothing else of it', async () => {
    const closed = row('s1', { head: toCursor(3), floor: toCursor(0), state: 'closed' });
    await setUp({ describe: () => Promise.resolve(closed), append: () => Promise.resolve({ kind: 'closed' }) });
    expect(await ask('/lab/faults', fault('drop_next'))).toEqual(problem(409, 'session_closed'));
    expect(await ask('/lab/faults', fault('drop_last_of_burst'))).toEqual(problem(409, 'session_closed'));
    expect((await ask('/lab/faults', fault('stop_bus'))).status).toBe(202);
    expect((await ask('/lab/faults', fault('restart_gateway'))).status).toBe(202);
  });

  it('anything of a session that was deleted', async () => {
    const deleted = row('s1', { head: toCursor(3), floor: toCursor(3), state: 'deleted' });
    await setUp({ describe: () => Promise.resolve(deleted) });
    for (const name of faults) expect(await ask('/lab/faults', fault(name))).toEqual(problem(410, 'session_deleted'));
  });

  it.each([
    ['/lab/faults', ''],
    ['/lab/faults', '{'],
    ['/lab/faults', '[]'],
    ['/lab/faults', { fault: 'drop_next' }],
    ['/lab/faults', { session: 's1' }],
    ['/lab/faults', { fault: 'set_fire', session: 's1' }],
    ['/lab/faults', { fault: 'stop_bus', session: 'a.b' }],
    ['/lab/faults', { fault: 'stop_bus', session: 's1', forMs: 1 }],
    ['/lab/faults', '{"fault":"stop_bus","fault":"drop_next","session":"s1"}'],
    ['/lab/head-check', { isPaused: 'true' }],
    ['/lab/head-check', {}],
    ['/lab/head-check', { isPaused: true, session: 's1' }],
  ])('at %s the body %j', async (path, body) => {
    const lab = await setUp();
    expect(await ask(path, body)).toEqual(problem(400, 'malformed'));
    expect(lab.state).toEqual({ isHeadCheckPaused: false, isBusStopped: false, dropsNext: false });
  });
});
