/** What a worker asks in any language: turns, time, steering, and how each attempt ended. */
import { afterEach, describe, expect, it } from 'vitest';
import { LedgerlineError } from '../../src/base/errors.ts';
import { limits } from '../../src/base/limits.ts';
import { toCursor, toSequence } from '../../src/event/sequence.ts';
import { readTraceparent } from '../../src/event/trace.ts';
import type { Attempt, ClaimRequest, ClaimedTurn, Settled, Turns } from '../../src/turn/turns.ts';
import { head, open } from '../support/raw-http.ts';
import { askInternal, problem } from '../support/stub-calls.ts';
import { KEY, startStubGateway } from '../support/stub-gateway.ts';
import type { StubGateway, StubOptions } from '../support/stub-gateway.ts';
import { eventually } from '../support/waits.ts';

let gateway: StubGateway;
let taken: unknown[] = [];
afterEach(async () => {
  taken = [];
  await gateway.stop();
});

async function setUp(turns: Partial<Turns>, options: StubOptions = {}): Promise<void> {
  gateway = await startStubGateway({ ...options, turns });
}
const post = (path: string, body?: unknown) => askInternal(gateway, 'POST', path, body);
const claim = (body?: unknown) => post('/internal/turns/claim', body);
const at = (what: string): string => `/internal/sessions/s1/turns/t1/${what}`;

const claimed: ClaimedTurn = {
  session: 's1',
  turn: 't1',
  attempt: 7,
  tryNumber: 1,
  maxAttempts: 3,
  leaseMs: 30_000,
  deadline: '2026-11-30T08:00:00.000Z',
  remainingMs: 14_400_000,
  head: toCursor(41),
  inputs: [
    {
      sequence: toSequence(40),
      at: '2026-11-30T04:00:00.000Z',
      data: '{"key":"k","n": 9007199254740993, "u":"\\u0000"}',
    },
  ],
  decisions: [
    { approval: 'a', decision: 'approved', by: 'maya', comment: undefined, sequence: toSequence(44) },
    { approval: 'b', decision: 'denied', by: 'noor', comment: 'no "way"', sequence: toSequence(45) },
  ],
  traceparent: readTraceparent('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'),
};

/** A claim that waits until nobody wants it any more, and then has taken something all the same. */
function waitingClaim(result: readonly ClaimedTurn[]) {
  const signals: AbortSignal[] = [];
  const released: Attempt[] = [];
  const turns: Partial<Turns> = {
    claim: (_, signal) =>
      new Promise((resolve) => {
        if (signal === undefined) return;
        signals.push(signal);
        signal.addEventListener('abort', () => resolve(result));
      }),
    release: (attempt) => {
      released.push(attempt);
      return Promise.resolve({ state: 'ready', status: 'open', sequence: undefined });
    },
  };
  return { turns, signals, released };
}

const bare: ClaimedTurn = { ...claimed, session: 's2', inputs: [], decisions: [], traceparent: undefined };

describe('a claim', () => {
  it('gives turns with their inputs as they are stored [I2]', async () => {
    await setUp({ claim: () => Promise.resolve([claimed, bare]) });
    const answer = await fetch(`${gateway.internalUrl}/internal/turns/claim`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: '{"worker":"w","limit":2}',
    });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json']);
    const facts =
      '"turn":"t1","attempt":7,"try":1,"maxAttempts":3,"leaseMs":30000,"deadline":"2026-11-30T08:00:00.000Z","remainingMs":14400000,"head":41';
    expect(await answer.text()).toBe(
      `{"turns":[{"session":"s1",${facts},"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",` +
        '"inputs":[{"sequence":40,"at":"2026-11-30T04:00:00.000Z","data":{"key":"k","n": 9007199254740993, "u":"\\u0000"}}],' +
        '"decisions":[{"approval":"a","decision":"approved","by":"maya","comment":null,"sequence":44},' +
        '{"approval":"b","decision":"denied","by":"noor","comment":"no \\"way\\"","sequence":45}]},' +
        `{"session":"s2",${facts},"traceparent":null,"inputs":[],"decisions":[]}]}`,
    );
  });

  it('says what is left out, and has its bounds', async () => {
    const asked: ClaimRequest[] = [];
    await setUp({
      claim: (request) => {
        asked.push(request);
        return Promise.resolve([]);
      },
    });
    expect(await claim({ worker: 'w' })).toEqual({ status: 200, body: { turns: [] } });
    const all = { worker: 'w', limit: 50, waitMs: 30_000, policy: 'once', maxAttempts: 20, turnMs: 1 };
    await claim(all);
    expect(asked).toEqual([
      { worker: 'w', limit: 1, waitMs: 0, policy: 'retry', maxAttempts: 3, turnMs: 14_400_000 },
      all,
    ]);
    for (const [body, where] of [
      [{}, 'worker'],
      [{ worker: '' }, 'worker'],
      [{ worker: 'a\u0000' }, 'worker'],
      [{ worker: 'w', limit: 0 }, 'limit'],
      [{ worker: 'w', limit: 51 }, 'limit'],
      [{ worker: 'w', waitMs: 30_001 }, 'waitMs'],
      [{ worker: 'w', waitMs: -1 }, 'waitMs'],
      [{ worker: 'w', policy: 'never' }, 'policy'],
      [{ worker: 'w', maxAttempts: 21 }, 'maxAttempts'],
      [{ worker: 'w', turnMs: 0 }, 'turnMs'],
      [{ worker: 'w', turnMs: 1e12 }, 'turnMs'],
      [{ worker: 'w', sessions: ['s1'] }, 'body'],
    ] as const) {
      expect(await claim(body)).toEqual(problem(400, 'malformed', { where }));
    }
    expect(asked).toHaveLength(2);
  });

  it('of a worker that went away is given up, and what it got all the same is given back', async () => {
    const { turns, signals, released } = waitingClaim([claimed]);
    await setUp(turns);
    const { socket } = open(gateway.internalUrl);
    const body = '{"worker":"w","waitMs":30000}';
    socket.write(
      head('POST', '/internal/turns/claim', { Authorization: `Bearer ${KEY}`, 'Content-Length': String(body.length) }) +
        body,
    );
    await eventually('the claim waits', () => signals.length === 1);
    expect(signals[0]?.aborted).toBe(false);
    socket.destroy();
    await eventually('what it got is given back', () => released.length === 1);
    expect(signals[0]?.aborted).toBe(true);
    expect(released[0]).toMatchObject({ session: 's1', turn: 't1', attempt: 7 });
  });

  it('ends at once when the server drains, and what it got goes to its worker [dbos-py#804]', async () => {
    const draining = new AbortController();
    const { turns, signals, released } = waitingClaim([{ ...claimed, inputs: [], decisions: [] }]);
    await setUp(turns, { draining: draining.signal });
    const answering = claim({ worker: 'w', waitMs: 30_000 });
    await eventually('the claim waits', () => signals.length === 1);
    draining.abort();
    expect(await answering).toMatchObject({ status: 200, body: { turns: [{ session: 's1' }] } });
    expect(released).toEqual([]);
    expect(await claim({ worker: 'w' })).toEqual(problem(503, 'draining'));
    expect(signals).toHaveLength(1);
  });

  it('that was answered is not given up afterwards', async () => {
    const signals: AbortSignal[] = [];
    await setUp({
      claim: (_, signal) => {
        if (signal !== undefined) signals.push(signal);
        return Promise.resolve([]);
      },
    });
    await claim({ worker: 'w' });
    await claim({ worker: 'w' });
    expect(signals.map((signal) => signal.aborted)).toEqual([false, false]);
  });
});

describe('a renewal', () => {
  it('tells of each that goes on whether it is to stop, and what waits', async () => {
    await setUp({
      renew: (attempts) => {
        taken.push(attempts);
        return Promise.resolve([
          { session: 's1', turn: 't1', attempt: 7, stop: undefined, hasSteering: true, isExtended: true },
          { session: 's2', turn: 't2', attempt: 1, stop: 'interrupt', hasSteering: false, isExtended: false },
        ]);
      },
    });
    const attempts = [
      { session: 's1', turn: 't1', attempt: 7 },
      { session: 's2', turn: 't2', attempt: 1 },
    ];
    expect(await post('/internal/turns/renew', { attempts })).toEqual({
      status: 200,
      body: {
        renewed: [
          { ...attempts[0], stop: null, steering: true, extended: true },
          { ...attempts[1], stop: 'interrupt', steering: false, extended: false },
        ],
      },
    });
    expect(taken).toEqual([attempts]);
  });

  it('is of a thousand at most, with the longest ids', async () => {
    await setUp({ renew: () => Promise.resolve([]) });
    const attempt = { session: 's'.repeat(128), turn: 't'.repeat(128), attempt: 2 ** 53 - 1 };
    const renew = (count: number) =>
      post('/internal/turns/renew', { attempts: Array.from({ length: count }, () => attempt) });
    expect(await renew(limits.renewAttempts)).toEqual({ status: 200, body: { renewed: [] } });
    expect(await renew(limits.renewAttempts + 1)).toEqual(problem(400, 'malformed', { where: 'attempts' }));
    expect(await post('/internal/turns/renew', { attempts: [{ session: 's1', turn: 't1' }] })).toEqual(
      problem(400, 'malformed', { where: 'attempts[0].attempt' }),
    );
  });
});

describe('an attempt', () => {
  const settling: Settled = { state: 'idle', status: 'done', sequence: toSequence(45) };
  const answered = { status: 200, body: { state: 'idle', status: 'done', sequence: 45 } };
  const note =
    (...about: string[]) =>
    (...asked: unknown[]) => {
      taken.push([...about, ...asked]);
      return Promise.resolve(settling);
    };
  const attempt = { session: 's1', turn: 't1', attempt: 7 };

  it('takes steering, as it is stored [I2]', async () => {
    await setUp({
      steer: (...asked) => {
        taken.push(asked);
        return Promise.resolve(claimed.inputs);
      },
    });
    const answer = await fetch(gateway.internalUrl + at('steer'), {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: '{"attempt":7,"after":39}',
    });
    expect(await answer.text()).toBe(
      '{"inputs":[{"sequence":40,"at":"2026-11-30T04:00:00.000Z","data":{"key":"k","n": 9007199254740993, "u":"\\u0000"}}]}',
    );
    expect(taken).toEqual([[attempt, 39]]);
  });

  it('finishes, with events to the last character [I2]', async () => {
    await setUp({ finish: note() });
    const data = '{"n":9007199254740993, "b":1,"b":-0}';
    expect(
      await post(at('finish'), `{"attempt":7,"outcome":"completed","events":[{"type":"a","data":${data}}]}`),
    ).toEqual(answered);
    await post(at('finish'), { attempt: 7, outcome: 'cancelled' });
    expect(taken).toEqual([
      [attempt, 'completed', [{ type: 'a', data, bytes: data.length }]],
      [attempt, 'cancelled', []],
    ]);
  });

  it('fails, and says whether another may follow', async () => {
    await setUp({ fail: note() });
    const error = { code: 'model_refused', message: 'no\u0000' };
    expect(await post(at('fail'), { attempt: 7, error, retryable: true })).toEqual(answered);
    await post(at('fail'), { attempt: 7, error, retryable: false });
    expect(taken).toEqual([
      [attempt, error, true],
      [attempt, error, false],
    ]);
  });

  it('fails also with more words than are kept, and no character is halved', async () => {
    await setUp({ fail: note() });
    const message = `.${'é'.repeat(limits.turnErrorBytes)}`;
    expect(await post(at('fail'), { attempt: 7, error: { code: 'c', message }, retryable: true })).toEqual(answered);
    const kept = `.${'é'.repeat(limits.turnErrorBytes / 2 - 1)}`;
    expect(taken).toEqual([[attempt, { code: 'c', message: kept }, true]]);
  });

  it('waits for answers, with what its questions say', async () => {
    await setUp({ wait: note() });
    const approvals = [
      { approval: 'refund-7731', tool: 'refund', args: { cents: 4_000, to: null }, reason: 'asked for', call: 'c1' },
      { approval: 'b' },
    ];
    expect(await post(at('wait'), { attempt: 7, approvals })).toEqual(answered);
    expect(taken).toEqual([
      [
        attempt,
        [
          {
            approval: 'refund-7731',
            data: { tool: 'refund', args: { cents: 4_000, to: null }, reason: 'asked for', call: 'c1' },
          },
          { approval: 'b', data: {} },
        ],
      ],
    ]);
  });

  it('gives its turn back', async () => {
    await setUp({ release: () => Promise.resolve({ state: 'ready', status: 'open', sequence: undefined }) });
    expect(await post(at('release'), { attempt: 7 })).toEqual({
      status: 200,
      body: { state: 'ready', status: 'open', sequence: null },
    });
  });

  const question = (bytes: number) => ({ approval: 'a', args: 'x'.repeat(bytes) });
  it.each([
    ['steer', {}, 'attempt'],
    ['steer', { attempt: 0 }, 'attempt'],
    ['finish', { attempt: 7 }, 'outcome'],
    ['finish', { attempt: 7, outcome: 'failed' }, 'outcome'],
    ['finish', { attempt: 7, outcome: 'completed', events: [{ type: 'a' }] }, 'events[0].data'],
    ['finish', { attempt: 7, outcome: 'completed', events: [{ type: 'A', data: 1 }] }, 'events[0].type'],
    ['fail', { attempt: 7, retryable: true }, 'error'],
    ['fail', { attempt: 7, error: { code: '', message: '' }, retryable: true }, 'error.code'],
    ['fail', { attempt: 7, error: { code: 'c'.repeat(129), message: '' }, retryable: true }, 'error.code'],
    ['fail', { attempt: 7, error: { code: 'a', message: 'b', stack: 'c' }, retryable: true }, 'error'],
    ['fail', { attempt: 7, error: { code: 'a', message: 'b' } }, 'retryable'],
    ['wait', { attempt: 7, approvals: [] }, 'approvals'],
    ['wait', { attempt: 7, approvals: Array.from({ length: 17 }, () => ({ approval: 'a' })) }, 'approvals'],
    ['wait', { attempt: 7, approvals: [{ approval: 'a b' }] }, 'approvals[0].approval'],
    ['wait', { attempt: 7, approvals: [{ approval: 'a', turn: 't2' }] }, 'approvals[0]'],
    [
      'wait',
      { attempt: 7, approvals: [{ approval: 'a' }, { approval: 'b' }, { approval: 'a' }] },
      'approvals[2].approval',
    ],
    ['release', { attempt: '7' }, 'attempt'],
  ])('cannot %s with %j', async (what, body, where) => {
    await setUp({ steer: () => Promise.resolve([]), finish: note(), fail: note(), wait: note(), release: note() });
    expect(await post(at(what), body)).toEqual(problem(400, 'malformed', { where }));
    expect(taken).toEqual([]);
  });

  it('cannot ask what no event holds', async () => {
    await setUp({ wait: note() });
    const surroundings = '{"turn":"t1","attempt":7,"approval":"a","args":""}'.length;
    const fits = question(limits.payloadBytes - surroundings);
    expect((await post(at('wait'), { attempt: 7, approvals: [fits] })).status).toBe(200);
    const approvals = [{ approval: 'b' }, question(limits.payloadBytes - surroundings + 1)];
    expect(await post(at('wait'), { attempt: 7, approvals })).toEqual(
      problem(413, 'too_large', { limit: 'payloadBytes', max: limits.payloadBytes, index: 1 }),
    );
    expect(taken).toHaveLength(1);
  });

  it.each(['steer', 'finish', 'fail', 'wait', 'release'] as const)('that lost its turn is told at %s', async (what) => {
    await setUp({ [what]: () => Promise.reject(new LedgerlineError('fenced', 'another attempt owns the turn')) });
    const bodies = {
      steer: {},
      finish: { outcome: 'completed', events: [] },
      fail: { error: { code: 'a', message: 'b' }, retryable: true },
      wait: { approvals: [{ approval: 'a' }] },
      release: {},
    };
    expect(await post(at(what), { attempt: 7, ...bodies[what] })).toEqual(problem(409, 'fenced'));
  });

  it('is of a turn and a session that have their grammar', async () => {
    await setUp({ release: note() });
    expect(await post('/internal/sessions/s1/turns/a%22b/release', { attempt: 7 })).toEqual(
      problem(400, 'malformed', { where: 'turn' }),
    );
    expect(await post('/internal/sessions/a.b/turns/t1/release', { attempt: 7 })).toEqual(
      problem(400, 'malformed', { where: 'session' }),
    );
    expect(taken).toEqual([]);
  });
});
