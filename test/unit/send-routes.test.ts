/** What a person sends to a session: messages, decisions, a stop, how far it was read; what is taken, and what is answered. */
import { afterEach, describe, expect, it } from 'vitest';
import { LedgerlineError } from '../../src/base/errors.ts';
import type { ErrorCode, ErrorFields } from '../../src/base/errors.ts';
import { limits } from '../../src/base/limits.ts';
import { toCursor, toSequence } from '../../src/event/sequence.ts';
import type { Turns } from '../../src/turn/turns.ts';
import { askInternal, askPublic, problem } from '../support/stub-calls.ts';
import { startStubGateway } from '../support/stub-gateway.ts';
import type { StubGateway } from '../support/stub-gateway.ts';

let gateway: StubGateway;
let taken: unknown[];
afterEach(() => gateway.stop());

/** Whatever reaches the turns is taken down. */
async function setUp(turns: Partial<Turns> = {}): Promise<void> {
  taken = [];
  gateway = await startStubGateway({
    turns: {
      request: (message) => {
        taken.push(message);
        return Promise.resolve({ sequence: toSequence(40), isRepeat: false, state: 'ready' });
      },
      decide: (session, decision) => {
        taken.push([session, decision]);
        return Promise.resolve({ sequence: toSequence(44), isRepeat: false, state: 'ready' });
      },
      stop: (...asked) => {
        taken.push(asked);
        return Promise.resolve({ isStopping: true, isStopped: false, state: 'running' });
      },
      ...turns,
    },
    sessions: {
      markRead: (...asked) => {
        taken.push(asked);
        return Promise.resolve({ read: toCursor(44), state: 'open' });
      },
    },
  });
}
const refusing = (code: ErrorCode, fields: ErrorFields) => () =>
  Promise.reject(new LedgerlineError(code, 'refused', fields));
const post = (what: string, body?: unknown) => askPublic(gateway, 'POST', `/sessions/s1/${what}`, body);

describe('a message', () => {
  it('is 201 with its place, and 200 when it was there', async () => {
    await setUp();
    const body = { key: 'k-1', content: 'Where is order 7731?' };
    expect(await post('messages', body)).toEqual({ status: 201, body: { sequence: 40, state: 'ready' } });
    expect(taken).toEqual([{ session: 's1', ...body, onBusy: 'enqueue', by: 'tester' }]);
    await gateway.stop();
    await setUp({ request: () => Promise.resolve({ sequence: toSequence(40), isRepeat: true, state: 'running' }) });
    expect(await post('messages', body)).toEqual({ status: 200, body: { sequence: 40, state: 'running' } });
  });

  it('may be of parts, which stay as they were sent', async () => {
    await setUp();
    const content =
      '[{"type":"text","text":"a\\u0000\\ud83d","deep":{"__proto__":1}},{"type":"file","url":"x","__proto__":{"y":1}}]';
    await post('messages', `{"key":"k","onBusy":"steer","content":${content}}`);
    expect(JSON.stringify((taken[0] as { content: unknown }).content)).toBe(content);
    expect(taken[0]).toMatchObject({ onBusy: 'steer' });
  });

  it('is by whoever’s token it was sent with, or by the inside', async () => {
    await setUp();
    await askPublic(gateway, 'POST', '/sessions/s1/messages', { key: 'k', content: 'x' }, { subject: 'maya' });
    await askInternal(gateway, 'POST', '/sessions/s1/messages', { key: 'k', content: 'x' });
    expect(taken).toMatchObject([{ by: 'maya' }, { by: 'internal' }]);
  });

  it.each([
    ['', 'character 0'],
    [{ content: 'x' }, 'key'],
    [{ key: '', content: 'x' }, 'key'],
    [{ key: 'a b', content: 'x' }, 'key'],
    [{ key: 'k'.repeat(129), content: 'x' }, 'key'],
    [{ key: 'k' }, 'content'],
    [{ key: 'k', content: null }, 'content'],
    [{ key: 'k', content: ' \n\u00a0' }, 'content'],
    [{ key: 'k', content: [] }, 'content'],
    [{ key: 'k', content: { type: 'text' } }, 'content'],
    [{ key: 'k', content: ['text'] }, 'content'],
    [{ key: 'k', content: [{ text: 'x' }] }, 'content'],
    [{ key: 'k', content: [{ type: 1 }] }, 'content'],
    [{ key: 'k', content: 'x', onBusy: 'wait' }, 'onBusy'],
    [{ key: 'k', content: 'x', by: 'somebody' }, 'body'],
    ['{"key":"k","content":"x","key":"l"}', 'key'],
  ])('%j is refused, with the place', async (body, where) => {
    await setUp();
    expect(await post('messages', body)).toEqual(problem(400, 'malformed', { where }));
    expect(taken).toEqual([]);
  });

  it('holds so much as JSON, and no byte more', async () => {
    await setUp();
    const text = (bytes: number): string => 'x'.repeat(bytes - 2);
    expect((await post('messages', { key: 'k', content: text(limits.contentBytes) })).status).toBe(201);
    expect(await post('messages', { key: 'k', content: text(limits.contentBytes + 1) })).toEqual(
      problem(413, 'too_large', { limit: 'contentBytes', max: limits.contentBytes }),
    );
    expect(await post('messages', { key: 'k', content: text(limits.bodyBytes) })).toEqual(
      problem(413, 'too_large', { limit: 'bodyBytes' }),
    );
  });

  it.each([
    ['request_conflict', 409, { sequence: 12 }],
    ['turn_busy', 409, { state: 'running', turn: 't1' }],
    ['session_closed', 409, {}],
    ['session_deleted', 410, {}],
    ['session_unknown', 404, {}],
    ['session_busy', 503, {}],
  ] as const)('that meets %s is %i, with what it says', async (code, status, fields) => {
    await setUp({ request: refusing(code, fields) });
    expect(await post('messages', { key: 'k', content: 'x' })).toEqual(problem(status, code, fields));
  });
});

describe('a decision', () => {
  it('is 201 with its place, and 200 when the same person repeats it', async () => {
    await setUp();
    const body = { approval: 'refund-7731', decision: 'approved', comment: 'fine' };
    expect(await post('decisions', body)).toEqual({ status: 201, body: { sequence: 44, state: 'ready' } });
    await post('decisions', { approval: 'a', decision: 'denied' });
    expect(taken).toEqual([
      ['s1', { ...body, by: 'tester' }],
      ['s1', { approval: 'a', decision: 'denied', comment: undefined, by: 'tester' }],
    ]);
    await gateway.stop();
    await setUp({ decide: () => Promise.resolve({ sequence: toSequence(44), isRepeat: true, state: 'waiting' }) });
    expect(await post('decisions', body)).toEqual({ status: 200, body: { sequence: 44, state: 'waiting' } });
  });

  it.each([
    [{ decision: 'approved' }, 'approval'],
    [{ approval: 'a b', decision: 'approved' }, 'approval'],
    [{ approval: 'a', decision: 'yes' }, 'decision'],
    [{ approval: 'a', decision: 'denied', comment: 1 }, 'comment'],
    [{ approval: 'a', decision: 'denied', by: 'x' }, 'body'],
  ])('%j is refused, with the place', async (body, where) => {
    await setUp();
    expect(await post('decisions', body)).toEqual(problem(400, 'malformed', { where }));
    expect(taken).toEqual([]);
  });

  it('has a comment of so many bytes, and no more', async () => {
    await setUp();
    const comment = 'é'.repeat(limits.commentBytes / 2);
    expect((await post('decisions', { approval: 'a', decision: 'denied', comment })).status).toBe(201);
    expect(await post('decisions', { approval: 'a', decision: 'denied', comment: `${comment}.` })).toEqual(
      problem(413, 'too_large', { limit: 'commentBytes', max: limits.commentBytes }),
    );
  });

  it.each([
    ['approval_unknown', 404, {}],
    ['approval_decided', 409, { decision: 'denied', by: 'noor', sequence: 41 }],
  ] as const)('that meets %s is %i, with the first', async (code, status, fields) => {
    await setUp({ decide: refusing(code, fields) });
    expect(await post('decisions', { approval: 'a', decision: 'approved' })).toEqual(problem(status, code, fields));
  });
});

describe('a stop', () => {
  it.each([
    [true, false, 'running', 202],
    [false, true, 'idle', 200],
    [false, false, 'idle', 200],
  ] as const)(
    'that is under way %s or done %s in a session that is %s is %i',
    async (isStopping, isStopped, state, status) => {
      await setUp({ stop: () => Promise.resolve({ isStopping, isStopped, state }) });
      expect(await post('stop')).toEqual({ status, body: { stopping: isStopping, stopped: isStopped, state } });
    },
  );

  it('is for whatever is under way, or for one turn', async () => {
    await setUp();
    for (const body of [undefined, {}, { turn: '0b6c' }]) await post('stop', body);
    expect(taken).toEqual([
      ['s1', 'tester', undefined],
      ['s1', 'tester', undefined],
      ['s1', 'tester', '0b6c'],
    ]);
    expect(await post('stop', { turn: 'a b' })).toEqual(problem(400, 'malformed', { where: 'turn' }));
    expect(await post('stop', { mode: 'now' })).toEqual(problem(400, 'malformed', { where: 'body' }));
    expect(taken).toHaveLength(3);
  });
});

describe('a read position', () => {
  it('is the reader’s own', async () => {
    await setUp();
    expect(await post('read', { sequence: 50 })).toEqual({ status: 200, body: { read: 44 } });
    expect(taken).toEqual([['s1', 'tester', 50]]);
  });

  it.each([{}, { sequence: -1 }, { sequence: 1.5 }, { sequence: '1' }, { sequence: 2 ** 53 }])(
    '%j is refused',
    async (body) => {
      await setUp();
      expect(await post('read', body)).toEqual(problem(400, 'malformed', { where: 'sequence' }));
      expect(taken).toEqual([]);
    },
  );

  it('is of a session that is there', async () => {
    gateway = await startStubGateway({ sessions: { markRead: () => Promise.resolve(undefined) } });
    expect(await post('read', { sequence: 1 })).toEqual(problem(404, 'session_unknown'));
    await gateway.stop();
    const deleted = { read: toCursor(0), state: 'deleted' } as const;
    gateway = await startStubGateway({ sessions: { markRead: () => Promise.resolve(deleted) } });
    expect(await post('read', { sequence: 1 })).toEqual(problem(410, 'session_deleted'));
  });
});
