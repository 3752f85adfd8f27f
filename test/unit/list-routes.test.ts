/** The lists of sessions and of turns, and what becomes of a turn on request: who sees what, in which form. */
import { afterEach, describe, expect, it } from 'vitest';
import { LedgerlineError } from '../../src/base/errors.ts';
import { toCursor } from '../../src/event/sequence.ts';
import type { ListedSession, SessionList } from '../../src/ledger/ledger.ts';
import type { TurnNow } from '../../src/event/turn-state.ts';
import type { TurnSummary, Turns } from '../../src/turn/turns.ts';
import { askInternal, askPublic, problem } from '../support/stub-calls.ts';
import { row, startStubGateway } from '../support/stub-gateway.ts';
import type { StubGateway } from '../support/stub-gateway.ts';

let gateway: StubGateway;
let taken: unknown[] = [];
afterEach(async () => {
  taken = [];
  await gateway.stop();
});

const idle: TurnNow = { state: 'idle', turn: undefined, attempt: undefined, stop: undefined };
const listed: ListedSession = {
  session: 's1',
  metadata: { title: 'one' },
  state: 'open',
  head: toCursor(44),
  floor: toCursor(0),
  turn: idle,
  activity: '2026-11-30T04:00:00.000Z',
  notable: toCursor(44),
  read: toCursor(40),
};

describe('the list of sessions', () => {
  const setUp = async (page: SessionList): Promise<void> => {
    gateway = await startStubGateway({
      sessions: {
        list: (...asked) => {
          taken.push(asked);
          return Promise.resolve(page);
        },
      },
    });
  };

  it('shows each with what its agent does and whether there is something new', async () => {
    const busy: ListedSession = {
      ...listed,
      session: 's2',
      metadata: null,
      read: toCursor(44),
      turn: { state: 'running', turn: 't1', attempt: 7, stop: 'stop' },
    };
    await setUp({ sessions: [listed, busy], next: undefined });
    expect(await askPublic(gateway, 'GET', '/sessions')).toEqual({
      status: 200,
      body: {
        sessions: [
          {
            session: 's1',
            metadata: { title: 'one' },
            state: 'open',
            head: 44,
            turn: { state: 'idle', turn: null, attempt: null, stop: null },
            activity: '2026-11-30T04:00:00.000Z',
            notable: 44,
            read: 40,
            unread: true,
          },
          expect.objectContaining({
            session: 's2',
            metadata: null,
            turn: { state: 'running', turn: 't1', attempt: 7, stop: 'stop' },
            unread: false,
          }),
        ],
        next: null,
      },
    });
    expect(taken).toEqual([[{ kind: 'all' }, { limit: 50, after: undefined }, 'tester']]);
  });

  it('is of what the token reaches, and everything inside', async () => {
    await setUp({ sessions: [], next: undefined });
    const token = { sessions: ['a', 'b-*'], owner: 'she', subject: 'maya' };
    expect((await askPublic(gateway, 'GET', '/sessions?limit=200', undefined, token)).body).toEqual({
      sessions: [],
      next: null,
    });
    await askInternal(gateway, 'GET', '/sessions');
    expect(taken).toEqual([
      [{ kind: 'some', sessions: ['a'], prefixes: ['b-'], owner: 'she' }, { limit: 200, after: undefined }, 'maya'],
      [{ kind: 'all' }, { limit: 50, after: undefined }, 'internal'],
    ]);
  });

  it('goes on with the place that it gave, to the microsecond', async () => {
    const place = { activityUs: 1_764_475_200_123_456, session: 'run-1_z' };
    await setUp({ sessions: [listed], next: place });
    const { body } = await askPublic(gateway, 'GET', '/sessions');
    const { next } = body as { next: string };
    expect(next).toMatch(/^[A-Za-z0-9_-]+$/);
    await askPublic(gateway, 'GET', `/sessions?after=${next}`);
    expect(taken[1]).toMatchObject([{}, { after: place }, 'tester']);
    for (const after of [
      '',
      'x',
      `${next}=`,
      `${next}A`,
      next.slice(0, -1),
      text('1.a.b'),
      text('-1.a'),
      text('1.'),
      text('01.a'),
      text('9007199254740992.a'),
    ]) {
      expect(await askPublic(gateway, 'GET', `/sessions?after=${after}`), after).toEqual(
        problem(400, 'malformed', { where: 'after' }),
      );
    }
    expect(taken).toHaveLength(2);
  });
  const text = (place: string): string => Buffer.from(place).toString('base64url');

  it.each(['0', '201', '-1', '1e2', 'x', '', '50&limit=50'])('has no limit of %s', async (limit) => {
    await setUp({ sessions: [], next: undefined });
    expect(await askPublic(gateway, 'GET', `/sessions?limit=${limit}`)).toEqual(
      problem(400, 'malformed', { where: 'limit' }),
    );
  });

  it('needs the scope read', async () => {
    await setUp({ sessions: [], next: undefined });
    for (const path of ['/sessions', '/turns']) {
      const scope = 'send write create';
      expect(await askPublic(gateway, 'GET', path, undefined, { scope })).toEqual(
        problem(403, 'forbidden', { scope: 'read' }),
      );
      expect((await fetch(gateway.publicUrl + path)).status).toBe(401);
    }
    expect(taken).toEqual([]);
  });
});

describe('the list of turns', () => {
  const summary: TurnSummary = {
    session: 's1',
    turn: 't1',
    attempt: 7,
    status: 'failed',
    state: 'idle',
    worker: undefined,
    tries: 3,
    maxAttempts: 3,
    since: '2026-11-30T04:00:00.000Z',
    error: { code: 'worker_lost', message: 'lost' },
    doubts: [{ step: 2, tool: 'charge', effect: 'once' }],
  };
  const setUp = async (): Promise<void> => {
    gateway = await startStubGateway({
      turns: {
        list: (...asked) => {
          taken.push(asked);
          const queued = {
            ...summary,
            status: 'queued',
            turn: undefined,
            attempt: undefined,
            maxAttempts: undefined,
            error: undefined,
          } as const;
          return Promise.resolve([summary, queued]);
        },
      },
    });
  };

  it('shows what is absent as null', async () => {
    await setUp();
    expect(await askPublic(gateway, 'GET', '/turns?which=attention')).toEqual({
      status: 200,
      body: {
        turns: [
          { ...summary, worker: null },
          { ...summary, status: 'queued', turn: null, attempt: null, worker: null, maxAttempts: null, error: null },
        ],
      },
    });
  });

  it('is of what needs a person or of what is under way, within reach', async () => {
    await setUp();
    await askPublic(gateway, 'GET', '/turns', undefined, { sessions: ['a-*'] });
    await askPublic(gateway, 'GET', '/turns?which=active&limit=200');
    await askInternal(gateway, 'GET', '/turns?which=attention&limit=1');
    expect(taken).toEqual([
      ['attention', 50, { kind: 'some', sessions: [], prefixes: ['a-'], owner: undefined }],
      ['active', 200, { kind: 'all' }],
      ['attention', 1, { kind: 'all' }],
    ]);
    expect(await askPublic(gateway, 'GET', '/turns?which=all')).toEqual(problem(400, 'malformed', { where: 'which' }));
    expect(await askPublic(gateway, 'GET', '/turns?limit=201')).toEqual(problem(400, 'malformed', { where: 'limit' }));
  });
});

describe('a turn', () => {
  const resume: Turns['rerun'] = (...asked) => {
    taken.push(asked);
    return Promise.resolve({ ...idle, state: 'ready', turn: 't1', attempt: 7 });
  };

  it('is tried again, begun anew, or noted', async () => {
    gateway = await startStubGateway({
      turns: {
        retry: resume,
        rerun: resume,
        acknowledge: (...asked) => Promise.resolve(void taken.push(asked)),
      },
    });
    const now = { state: 'ready', turn: 't1', attempt: 7, stop: null };
    const post = (what: string) => askPublic(gateway, 'POST', `/sessions/s1/turns/t1/${what}`);
    expect(await post('retry')).toEqual({ status: 200, body: now });
    expect(await post('rerun')).toEqual({ status: 200, body: now });
    expect(await post('acknowledge')).toEqual({ status: 200, body: {} });
    expect(taken).toEqual([
      ['s1', 't1', 'tester'],
      ['s1', 't1', 'tester', false],
      ['s1', 't1'],
    ]);
    expect(await askPublic(gateway, 'POST', '/sessions/s1/turns/a%20b/retry')).toEqual(
      problem(400, 'malformed', { where: 'turn' }),
    );
    expect(await askPublic(gateway, 'POST', `/sessions/s1/turns/${'t'.repeat(129)}/acknowledge`)).toEqual(
      problem(400, 'malformed', { where: 'turn' }),
    );
    expect(taken).toHaveLength(3);
  });

  it.each([
    ['turn_unknown', 404, {}],
    ['turn_over', 409, { turnStatus: 'done' }],
    ['turn_busy', 409, { state: 'running', turn: 't2' }],
  ] as const)('that is %s is %i', async (code, status, fields) => {
    const refuse = () => Promise.reject(new LedgerlineError(code, 'refused', fields));
    gateway = await startStubGateway({ turns: { retry: refuse, rerun: refuse, acknowledge: refuse } });
    for (const what of ['retry', 'rerun', 'acknowledge']) {
      expect(await askPublic(gateway, 'POST', `/sessions/s1/turns/t1/${what}`)).toEqual(problem(status, code, fields));
    }
  });

  it('is shown where its session is described', async () => {
    gateway = await startStubGateway({
      sessions: {
        describe: (session) =>
          Promise.resolve({ ...row(session), turn: { state: 'running', turn: 't1', attempt: 7, stop: 'interrupt' } }),
      },
    });
    expect((await askPublic(gateway, 'GET', '/sessions/s1')).body).toMatchObject({
      turn: { state: 'running', turn: 't1', attempt: 7, stop: 'interrupt' },
    });
  });
});
