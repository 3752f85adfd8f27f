/** A turn's journal in any language: what is read of it, what is asked of it, and what it never takes. */
import { afterEach, describe, expect, it } from 'vitest';
import { LedgerlineError } from '../../src/base/errors.ts';
import { limits } from '../../src/base/limits.ts';
import { toSequence } from '../../src/event/sequence.ts';
import type { JournaledStep, StepStart } from '../../src/step/step.ts';
import type { Steps } from '../../src/turn/steps.ts';
import { askInternal, askPublic, problem } from '../support/stub-calls.ts';
import { KEY, startStubGateway } from '../support/stub-gateway.ts';
import type { StubGateway, StubOptions } from '../support/stub-gateway.ts';

let gateway: StubGateway;
let taken: unknown[] = [];
afterEach(async () => {
  taken = [];
  await gateway.stop();
});

async function setUp(steps: Partial<Steps>, options: StubOptions = {}): Promise<void> {
  gateway = await startStubGateway({ ...options, steps });
}
const TURN = '/internal/sessions/s1/turns/t1';
const post = (path: string, body?: unknown) => askInternal(gateway, 'POST', `${TURN}/steps/${path}`, body);
const resolve = (body?: unknown, index = '3') =>
  askPublic(gateway, 'POST', `/sessions/s1/turns/t1/steps/${index}/resolve`, body);

async function text(method: string, path: string, body?: string): Promise<string> {
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
  const answer = await fetch(`${gateway.internalUrl}${TURN}/${path}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body }),
  });
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json']);
  return answer.text();
}

const attempt = { session: 's1', turn: 't1', attempt: 7 };
const intent = { tool: 'refund', effect: 'keyed', args: { cents: 4_000 } } as const;
const stated = { attempt: 7, ...intent };
/** What no parser would print again as it is. */
const odd = '{"n": 9007199254740993, "u":"\\u0000", "u":1e2}';

const step: JournaledStep = {
  index: 0,
  kind: 'model',
  state: 'done',
  tool: undefined,
  effect: undefined,
  reserved: 1,
  requestHash: 'ab12',
  request: odd,
  result: odd,
  error: undefined,
  fence: 7,
  isKeyExpired: false,
  startedAt: '2026-11-30T04:00:00.000Z',
  endedAt: '2026-11-30T04:00:01.000Z',
};

describe('a journal', () => {
  it('is read in order, with its texts as they are stored [I2]', async () => {
    const error = { code: 'declined', message: 'No "way".' };
    const called: JournaledStep = {
      ...step,
      index: 1,
      kind: 'tool',
      state: 'failed',
      tool: 'refund',
      effect: 'keyed',
      reserved: 0,
      request: undefined,
      result: undefined,
      error,
      endedAt: undefined,
    };
    await setUp({
      journal: (...asked) => {
        taken.push(asked);
        return Promise.resolve([step, called]);
      },
    });
    const times = '"attempt":7,"startedAt":"2026-11-30T04:00:00.000Z"';
    expect(await text('GET', 'steps')).toBe(
      '{"steps":[' +
        '{"index":0,"kind":"model","state":"done","tool":null,"effect":null,"reserved":1,"requestHash":"ab12",' +
        `"request":${odd},"result":${odd},"error":null,${times},"endedAt":"2026-11-30T04:00:01.000Z"},` +
        '{"index":1,"kind":"tool","state":"failed","tool":"refund","effect":"keyed","reserved":0,"requestHash":"ab12",' +
        `"request":null,"result":null,"error":{"code":"declined","message":"No \\"way\\"."},${times},"endedAt":null}]}`,
    );
    expect(taken).toEqual([['s1', 't1']]);
  });

  it('is for workers alone', async () => {
    await setUp({});
    for (const [method, path] of [
      ['GET', 'steps'],
      ['POST', 'steps/0/model'],
      ['POST', 'steps/0/start'],
      ['POST', 'steps/0/settle'],
    ] as const) {
      expect(await askPublic(gateway, method, `${TURN}/${path}`)).toEqual(problem(404, 'not_found'));
      const { status } = await fetch(`${gateway.internalUrl}${TURN}/${path}`, { method });
      expect(status).toBe(401);
    }
  });
});

describe("a model's answer", () => {
  const keep: Partial<Steps> = {
    model: (...asked) => {
      taken.push(asked);
      return Promise.resolve({ state: 'done', sequence: toSequence(12) });
    },
  };

  it('is kept as the text that was sent, on one line [I2]', async () => {
    await setUp(keep);
    const call = { call: 'c1', tool: 'refund', args: { cents: 4_000 } };
    const body = `{"attempt":7, "request":{"prompt":"x"},"result": {"n": 9007199254740993,\n"u":"\u2028"} ,"calls":[${JSON.stringify(call)}]}`;
    expect(await text('POST', 'steps/0/model', body)).toBe('{"state":"done","sequence":12}');
    const answer = { result: '{"n": 9007199254740993, "u":"\\u2028"}', calls: [call] };
    expect(taken).toEqual([[attempt, 0, { prompt: 'x' }, answer]]);
  });

  it('may ask for nothing, and be nothing', async () => {
    await setUp(keep);
    expect(await post('2147483647/model', { attempt: 7, request: null, result: null })).toMatchObject({ status: 200 });
    expect(taken).toEqual([[attempt, 2_147_483_647, null, { result: 'null', calls: [] }]]);
  });

  it.each([
    [{ request: 1, result: 1 }, 'attempt'],
    [{ attempt: 7, result: 1 }, 'request'],
    [{ attempt: 7, request: 1 }, 'result'],
    [{ attempt: 7, request: 1, result: 1, calls: {} }, 'calls'],
    [{ attempt: 7, request: 1, result: 1, calls: [{ tool: 'a', args: 1 }] }, 'calls[0].call'],
    [{ attempt: 7, request: 1, result: 1, calls: [{ call: '', tool: 'a', args: 1 }] }, 'calls[0].call'],
    [{ attempt: 7, request: 1, result: 1, calls: [{ call: 'c', args: 1 }] }, 'calls[0].tool'],
    [{ attempt: 7, request: 1, result: 1, calls: [{ call: 'c', tool: 'two words', args: 1 }] }, 'calls[0].tool'],
    [{ attempt: 7, request: 1, result: 1, calls: [{ call: 'c', tool: 'a' }] }, 'calls[0].args'],
    [{ attempt: 7, request: 1, result: 1, model: 'x' }, 'body'],
  ])('%j is malformed at %s', async (body, where) => {
    await setUp(keep);
    expect(await post('0/model', body)).toEqual(problem(400, 'malformed', { where }));
    expect(taken).toEqual([]);
  });

  it('that says two things at once is refused', async () => {
    await setUp(keep);
    const body = '{"attempt":7,"request":1,"result":1,"result":2}';
    expect(await post('0/model', body)).toEqual(problem(400, 'malformed', { where: 'result' }));
  });
});

describe('a call', () => {
  it.each<[StepStart, string]>([
    [{ kind: 'run', key: 'v1:t1:1', isAgain: false }, '{"do":"run","key":"v1:t1:1","again":false}'],
    [{ kind: 'run', key: 'v1:t1:1', isAgain: true }, '{"do":"run","key":"v1:t1:1","again":true}'],
    [{ kind: 'find', key: 'v1:t1:1' }, '{"do":"find","key":"v1:t1:1"}'],
    [{ kind: 'in_progress' }, '{"do":"wait"}'],
    [{ kind: 'done', result: odd }, `{"do":"use","result":${odd}}`],
    [
      { kind: 'failed', error: { code: 'declined', message: 'No.' } },
      '{"do":"use","error":{"code":"declined","message":"No."}}',
    ],
    [{ kind: 'in_doubt' }, '{"do":"stop"}'],
  ])('of which the journal says %j is answered %s', async (start, answer) => {
    await setUp({
      start: (...asked) => {
        taken.push(asked);
        return Promise.resolve(start);
      },
    });
    expect(await text('POST', 'steps/1/start', JSON.stringify(stated))).toBe(answer);
    expect(await text('POST', 'steps/1/start', JSON.stringify({ ...stated, keySeconds: 60 }))).toBe(answer);
    expect(taken).toEqual([
      [attempt, 1, intent, undefined],
      [attempt, 1, intent, 60],
    ]);
  });

  it.each([
    [{ tool: 'a', effect: 'read', args: 1 }, 'attempt'],
    [{ ...stated, tool: undefined }, 'tool'],
    [{ ...stated, tool: '' }, 'tool'],
    [{ ...stated, effect: undefined }, 'effect'],
    [{ ...stated, effect: 'maybe' }, 'effect'],
    [{ ...stated, effect: 'transactional' }, 'effect'],
    [{ ...stated, args: undefined }, 'args'],
    [{ ...stated, keySeconds: 0 }, 'keySeconds'],
    [{ ...stated, keySeconds: limits.keySecondsMost + 1 }, 'keySeconds'],
    [{ ...stated, effect: 'once', keySeconds: 60 }, 'keySeconds'],
    [{ ...stated, result: 1 }, 'body'],
  ])('%j is malformed at %s, and is not begun', async (body, where) => {
    await setUp({});
    expect(await post('1/start', body)).toEqual(problem(400, 'malformed', { where }));
  });

  it.each(['-1', '01', '1.5', '1e3', 'x', '2147483648', '%20'])('at the index %s is malformed', async (index) => {
    await setUp({});
    for (const what of ['model', 'start', 'settle']) {
      expect(await post(`${index}/${what}`, stated)).toEqual(problem(400, 'malformed', { where: 'index' }));
    }
    expect(await resolve({}, index)).toEqual(problem(400, 'malformed', { where: 'index' }));
  });

  it.each([
    ['fenced', 409, {}],
    ['step_conflict', 409, { state: 'done' }],
    ['step_unknown', 404, {}],
    ['turn_unknown', 404, {}],
    ['unavailable', 503, {}],
  ] as const)('that is %s is %i', async (code, status, fields) => {
    const refuse = () => Promise.reject(new LedgerlineError(code, 'refused', fields));
    await setUp({ journal: refuse, model: refuse, start: refuse, settle: refuse });
    expect(await askInternal(gateway, 'GET', `${TURN}/steps`)).toEqual(problem(status, code, fields));
    expect(await post('1/model', { attempt: 7, request: 1, result: 1 })).toEqual(problem(status, code, fields));
    expect(await post('1/start', stated)).toEqual(problem(status, code, fields));
    expect(await post('1/settle', { ...stated, result: 1 })).toEqual(problem(status, code, fields));
  });
});

describe('what came of a call', () => {
  it('is settled with its result and its deliveries, or its error', async () => {
    await setUp({
      settle: (...asked) => {
        taken.push(asked);
        const isDone = 'result' in asked[3];
        return Promise.resolve({ state: isDone ? 'done' : 'failed', sequence: isDone ? toSequence(13) : undefined });
      },
    });
    const deliveries = [{ topic: 'refund.issued', payload: { cents: 4_000 } }];
    const error = { code: 'declined', message: 'No.' };
    expect(await post('1/settle', { ...stated, result: null })).toEqual({
      status: 200,
      body: { state: 'done', sequence: 13 },
    });
    await post('1/settle', { ...stated, result: { id: 're_1' }, deliveries });
    expect(await post('1/settle', { ...stated, error })).toEqual({
      status: 200,
      body: { state: 'failed', sequence: null },
    });
    expect(taken).toEqual([
      [attempt, 1, intent, { result: null, deliveries: [] }],
      [attempt, 1, intent, { result: { id: 're_1' }, deliveries }],
      [attempt, 1, intent, { error }],
    ]);
  });

  const error = { code: 'declined', message: 'No.' };
  it.each([
    [stated, 'body'],
    [{ ...stated, result: 1, error }, 'body'],
    [{ ...stated, error: { code: '', message: 'No.' } }, 'error.code'],
    [{ ...stated, error: { code: 'declined' } }, 'error.message'],
    [{ ...stated, error, deliveries: [] }, 'deliveries'],
    [{ ...stated, effect: 'transactional', result: 1 }, 'effect'],
    [{ ...stated, result: 1, deliveries: [{ topic: 'a..b', payload: 1 }] }, 'deliveries[0].topic'],
    [{ ...stated, result: 1, deliveries: [{ topic: 'refund.*', payload: 1 }] }, 'deliveries[0].topic'],
    [{ ...stated, result: 1, deliveries: [{ topic: `${'a.'.repeat(64)}a`, payload: 1 }] }, 'deliveries[0].topic'],
    [{ ...stated, result: 1, deliveries: [{ topic: 'a' }] }, 'deliveries[0].payload'],
    [{ ...stated, result: 1, keySeconds: 60 }, 'body'],
  ])('%j is malformed at %s', async (body, where) => {
    await setUp({});
    expect(await post('1/settle', body)).toEqual(problem(400, 'malformed', { where }));
  });
});

describe('a step in doubt', () => {
  const note: Partial<Steps> = { resolve: (...asked) => Promise.resolve(void taken.push(asked)) };

  it('is resolved by a person, on either listener', async () => {
    await setUp(note);
    const done = { outcome: 'done', result: { id: 're_1' }, resume: true };
    expect(await resolve(done)).toEqual({ status: 200, body: {} });
    const path = '/sessions/s1/turns/t1/steps/4/resolve';
    const answer = await askInternal(gateway, 'POST', path, { outcome: 'not_done', resume: false });
    expect(answer).toEqual({ status: 200, body: {} });
    expect(taken).toEqual([
      ['s1', 't1', 3, { outcome: 'done', result: { id: 're_1' }, deliveries: [] }, 'tester', true],
      ['s1', 't1', 4, { outcome: 'not_done' }, expect.any(String), false],
    ]);
  });

  it.each([
    [{ outcome: 'maybe', resume: true }, 'outcome'],
    [{ outcome: 'done', resume: true }, 'result'],
    [{ outcome: 'done', result: 1 }, 'resume'],
    [{ outcome: 'not_done', result: 1, resume: true }, 'body'],
    [{ outcome: 'not_done', deliveries: [], resume: true }, 'body'],
    [{ outcome: 'done', result: 1, deliveries: [{ topic: 'a b', payload: 1 }], resume: true }, 'deliveries[0].topic'],
  ])('%j is malformed at %s', async (body, where) => {
    await setUp(note);
    expect(await resolve(body)).toEqual(problem(400, 'malformed', { where }));
    expect(taken).toEqual([]);
  });

  it('needs the scope write', async () => {
    await setUp(note);
    const path = '/sessions/s1/turns/t1/steps/3/resolve';
    const answer = await askPublic(
      gateway,
      'POST',
      path,
      { outcome: 'not_done', resume: true },
      { scope: 'read send' },
    );
    expect(answer).toEqual(problem(403, 'forbidden', { scope: 'write' }));
  });

  it.each([
    ['step_unknown', 404, {}],
    ['step_settled', 409, { state: 'done' }],
    ['turn_busy', 409, { state: 'running', turn: 't2' }],
  ] as const)('that is %s is %i', async (code, status, fields) => {
    await setUp({ resolve: () => Promise.reject(new LedgerlineError(code, 'refused', fields)) });
    expect(await resolve({ outcome: 'not_done', resume: true })).toEqual(problem(status, code, fields));
  });
});

describe('a turn that has had effects', () => {
  it('is done anew by force alone', async () => {
    gateway = await startStubGateway({
      turns: {
        rerun: (...asked) => {
          taken.push(asked);
          return Promise.resolve({ state: 'ready', turn: 't2', attempt: 8, stop: undefined });
        },
      },
    });
    const rerun = (body?: unknown) => askPublic(gateway, 'POST', '/sessions/s1/turns/t1/rerun', body);
    for (const body of [undefined, {}, { force: false }, { force: true }]) {
      expect(await rerun(body)).toMatchObject({ status: 200 });
    }
    expect(taken.map((asked) => (asked as unknown[])[3])).toEqual([false, false, false, true]);
    expect(await rerun({ force: 'yes' })).toEqual(problem(400, 'malformed', { where: 'force' }));
  });
});
