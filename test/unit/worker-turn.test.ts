/** What an agent does with a turn, and what becomes of the turn, whatever happens to either. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { LedgerlineError } from '../../src/base/errors.ts';
import { limits } from '../../src/base/limits.ts';
import { producerLimits } from '../../src/base/producer-limits.ts';
import { toCursor, toSequence } from '../../src/event/sequence.ts';
import type { AgentTurn } from '../../src/worker/agent-turn.ts';
import { AgentError, TurnAborted } from '../../src/worker/define-agent.ts';
import type { AgentDefinition } from '../../src/worker/define-agent.ts';
import { away, gate, workerWorld } from '../support/worker-world.ts';
import type { WorkerWorld } from '../support/worker-world.ts';

let unhandled: unknown[];
const onUnhandled = (thrown: unknown): void => void unhandled.push(thrown);
beforeEach(() => {
  unhandled = [];
  process.on('unhandledRejection', onUnhandled);
});
afterEach(() => {
  process.off('unhandledRejection', onUnhandled);
  if (unhandled.length > 0) throw new Error('a rejection was left unhandled', { cause: unhandled[0] });
});

/** A world in which one turn of the session s1 is at work. */
async function atWork(
  run: (turn: AgentTurn, world: WorkerWorld) => ReturnType<AgentDefinition['run']>,
  more: Parameters<WorkerWorld['claimable']>[1] = {},
): Promise<WorkerWorld> {
  const world: WorkerWorld = workerWorld({ run: (turn) => run(turn, world) });
  await world.worker.start();
  world.claimable('s1', more);
  await world.clock.settle();
  return world;
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

const whyOf = (thrown: unknown): string => (thrown instanceof TurnAborted ? thrown.why : String(thrown));

/** What each of an agent's calls comes to. */
async function fates(turn: AgentTurn): Promise<string[]> {
  const calls = [
    () => turn.append('text.delta', {}),
    () => turn.flush(),
    () => turn.history(),
    () => turn.steering(),
    () => turn.approve('later', {}),
  ];
  const settled = calls.map(async (call) => {
    try {
      await call();
      return 'done';
    } catch (thrown) {
      return whyOf(thrown);
    }
  });
  return Promise.all(settled);
}

describe('a turn', () => {
  test('is given with its inputs, told under its fence, and completed when run resolves', async () => {
    const world = await atWork(async (turn) => {
      const [{ content, key, by, sequence }] = turn.inputs as [AgentTurn['inputs'][number]];
      await turn.append('text.delta', { message: 'm', text: [content, key, by, sequence, turn.tryNumber].join() });
    });
    await world.clock.advance(producerLimits.batchMs);
    expect(world.told).toEqual([{ type: 'text.delta', data: { message: 'm', text: 'hello,k1,maya,1,1' } }]);
    expect(world.appends[0]).toMatchObject({
      session: 's1',
      fence: { turn: 'turn-of-s1', attempt: 1 },
      producer: { id: 'turn:turn-of-s1:1', sequence: 1 },
    });
    expect(world.endings).toEqual([{ session: 's1', kind: 'finished', outcome: 'completed', events: [] }]);
  });

  test('ends with the events that run returns, in the transaction that ends it', async () => {
    const world = await atWork(async (turn) => {
      await turn.append('text.delta', { text: 'hi' });
      return [{ type: 'message.completed', data: { content: 'hi' } }];
    });
    expect(world.told.map(({ type }) => type)).toEqual(['text.delta']);
    expect(world.endings).toMatchObject([{ kind: 'finished', outcome: 'completed', events: ['message.completed'] }]);
  });

  test('tells deltas in batches, and everything else at once with what waits', async () => {
    const more = gate();
    const world = await atWork(async (turn) => {
      await turn.append('text.delta', 1);
      await turn.append('text.delta', 2);
      await more.opened;
      await turn.append('text.delta', 3);
      await turn.append('tool.call', 4);
      await turn.append('odd', 5, { isDelta: true });
    });
    expect(world.appends).toEqual([]);
    await world.clock.advance(producerLimits.batchMs);
    more.open();
    await world.clock.settle();
    expect(world.appends.map(({ events }) => events.map(({ data }) => data))).toEqual([['1', '2'], ['3', '4'], ['5']]);
    expect(world.appends.map(({ producer }) => producer?.sequence)).toEqual([1, 3, 5]);
  });

  test('keeps a place for each event by the order of the calls, awaited or not', async () => {
    const world = await atWork((turn) => {
      for (let number = 0; number < 120; number += 1) void turn.append('text.delta', number);
      return Promise.resolve();
    });
    expect(world.told.map(({ data }) => data)).toEqual(Array.from({ length: 120 }, (_, index) => index));
  });

  test('lets an event that nobody could store throw where it is appended, and fails if nobody catches it', async () => {
    const world = await atWork((turn) => turn.append('Upper', {}));
    expect(world.endings).toMatchObject([{ kind: 'failed', error: { code: 'agent_failed' }, isRetryable: true }]);
    expect(world.lines()).toContain('an event type is 1 to 64');
  });

  test('reads the end of its session, or the range that it asks for', async () => {
    const ranges: unknown[] = [];
    await atWork(async (turn) => {
      ranges.push(await turn.history(), await turn.history({ after: 7, limit: 3 }), await turn.history({ before: 7 }));
    });
    expect(ranges).toMatchObject([
      [{ type: 'asked', data: { before: Number.MAX_SAFE_INTEGER, limit: 100 } }],
      [{ data: { after: toCursor(7), limit: 3 } }],
      [{ data: { before: toCursor(7), limit: 100 } }],
    ]);
  });

  test('takes what was sent to steer it, behind what it said before', async () => {
    const seen: unknown[] = [];
    const world = await atWork(async (turn, { steering, told }) => {
      steering.push({ sequence: 5, content: 'shorter, please' });
      void turn.append('text.delta', 'before');
      seen.push(await turn.steering(), told.length, await turn.steering());
    });
    expect(seen).toMatchObject([[{ sequence: 5, content: 'shorter, please', by: 'maya' }], 1, []]);
    expect(world.endings).toMatchObject([{ kind: 'finished' }]);
  });

  test('is told once of each message that steers it, and says which it has, so that a lost answer comes again', async () => {
    const seen: number[][] = [];
    const world = await atWork(async (turn, { steering }) => {
      const ask = async () => void seen.push((await turn.steering()).map(({ sequence }) => sequence));
      steering.push({ sequence: 5, content: 'shorter' });
      await ask();
      // As the server answers when it cannot know what was heard.
      steering.push({ sequence: 5, content: 'shorter' }, { sequence: 6, content: 'in French' });
      await ask();
    });
    expect(seen).toEqual([[5], [6]]);
    expect(world.steered).toEqual([1, 5]);
  });

  test('that is over takes no event, and says so in the promise: a callback that still speaks throws into nobody', async () => {
    let given: AgentTurn | undefined;
    const world = await atWork((turn) => {
      given = turn;
      return Promise.resolve();
    });
    const speak = (): Promise<void> | undefined => given?.append('text.delta', 'still speaking');
    expect(speak).not.toThrow(); // and nobody waits for the promise
    await expect(speak()).rejects.toMatchObject({ why: 'settled' });
    expect(world.told).toEqual([]);
  });
});

describe('a failure', () => {
  test('is told as the agent words it, and is final when the agent says so', async () => {
    const world = await atWork(() => Promise.reject(new AgentError('no_card', 'No card.', { isRetryable: false })));
    expect(world.endings).toMatchObject([
      { kind: 'failed', error: { code: 'no_card', message: 'No card.' }, isRetryable: false },
    ]);
  });

  test('of content that Postgres refuses reaches the agent, and ends the attempt', async () => {
    const world = await atWork(async (turn) => {
      await turn.append('note', 'x');
      await turn.flush();
    });
    expect(world.endings).toMatchObject([{ kind: 'finished' }]);
    world.outcome = { kind: 'refused', reason: 'too deep for Postgres' };
    world.claimable('s2');
    await world.clock.settle();
    expect(world.endings[1]).toMatchObject({ session: 's2', kind: 'failed' });
    expect(world.lines()).toContain('too deep for Postgres');
  });

  test('of the database to answer is waited out: events and the end are asked for again under the same counter', async () => {
    let failures = 3;
    const go = gate();
    const world = await atWork(async (turn) => {
      await go.opened;
      await turn.append('note', 'kept');
    });
    world.before = (what) => {
      if ((what !== 'append' && what !== 'finished') || failures-- <= 0) return Promise.resolve();
      return Promise.reject(
        failures % 2 === 0 ? away() : new LedgerlineError('append_unknown', 'the outcome is unknown'),
      );
    };
    go.open();
    await world.clock.advance(5_000);
    expect(world.told).toEqual([{ type: 'note', data: 'kept' }]);
    expect(new Set(world.appends.map(({ producer }) => producer?.sequence))).toEqual(new Set([1]));
    expect(world.endings).toMatchObject([{ kind: 'finished', outcome: 'completed' }]);
  });

  test('that only its own repeat is takes the answer for what it is: the events are stored', async () => {
    const go = gate();
    const world = await atWork(async (turn) => {
      await go.opened;
      await turn.append('note', 'once');
    });
    world.outcome = { kind: 'duplicate', first: toSequence(9), last: toSequence(9) };
    go.open();
    await world.clock.settle();
    expect(world.endings).toMatchObject([{ kind: 'finished', outcome: 'completed' }]);
  });
});

describe('a stop', () => {
  test.each(['stop', 'interrupt'] as const)(
    'by %s aborts, keeps what was written, and cancels when run ends',
    async (mode) => {
      const letGo = gate();
      let why: string | undefined;
      const world = await atWork(async (turn) => {
        await turn.append('text.delta', 'partial');
        await aborted(turn.signal);
        why = whyOf(turn.signal.reason);
        await letGo.opened;
        await turn.append('tool.result', 'settled');
        turn.signal.throwIfAborted();
      });
      world.stops.set('s1', mode);
      world.hint({ kind: 'stop', session: 's1', turn: 'turn-of-s1' });
      await world.clock.settle();
      expect([why, world.endings]).toEqual([mode === 'stop' ? 'stopped' : 'interrupted', []]);
      letGo.open();
      await world.clock.settle();
      expect(world.told.map(({ data }) => data)).toEqual(['partial', 'settled']);
      expect(world.endings).toEqual([{ session: 's1', kind: 'finished', outcome: 'cancelled', events: [] }]);
    },
  );

  test('that an agent answers with a failure is a stop all the same, and no rejection is left [vercel/ai#5459]', async () => {
    const world = await atWork(async (turn) => {
      const model = aborted(turn.signal).then(() => turn.append('text.delta', 'nobody awaits this'));
      await turn.append('text.delta', 'partial');
      await model;
      throw new Error('the model stream broke');
    });
    world.stops.set('s1', 'stop');
    world.hint({ kind: 'stop', session: 's1', turn: 'turn-of-s1' });
    await world.clock.settle();
    expect(world.endings).toMatchObject([{ kind: 'finished', outcome: 'cancelled' }]);
  });

  test('is heard with the next renewal when its hint is lost, and a hint for another turn asks for nothing', async () => {
    const world = await atWork((turn) => aborted(turn.signal));
    world.stops.set('s1', 'stop');
    world.hint({ kind: 'stop', session: 's1', turn: 'another' });
    await world.clock.settle();
    expect(world.renewals).toEqual([]);
    await world.clock.advance(limits.renewMs);
    expect(world.endings).toMatchObject([{ outcome: 'cancelled' }]);
  });

  test('ends a question that is not asked yet', async () => {
    let fate: string | undefined;
    const world = await atWork(async (turn) => {
      await aborted(turn.signal);
      fate = (await turn.approve('a1', {}).catch(whyOf)) as string;
    });
    world.stops.set('s1', 'stop');
    world.hint({ kind: 'stop', session: 's1', turn: 'turn-of-s1' });
    await world.clock.settle();
    expect([fate, world.endings.map(({ kind }) => kind)]).toEqual(['stopped', ['finished']]);
  });
});

describe('a stop that comes while a question is on its way', () => {
  test('is before it: nothing is asked, and the turn is cancelled', async () => {
    const append = gate();
    const go = gate();
    const world = await atWork(async (turn) => {
      await go.opened;
      void turn.append('note', 'kept');
      await turn.approve('a1', {});
    });
    world.before = (what) => (what === 'append' ? append.opened : Promise.resolve());
    go.open();
    await world.clock.settle();
    world.stops.set('s1', 'stop');
    world.hint({ kind: 'stop', session: 's1', turn: 'turn-of-s1' });
    await world.clock.settle();
    append.open();
    await world.clock.settle();
    expect(world.endings).toMatchObject([{ kind: 'finished', outcome: 'cancelled' }]);
  });
});

describe('an attempt that was taken away', () => {
  test('learns of it within a renewal, and writes nothing more: no event, no failure, no end [river#1135]', async () => {
    let turn: AgentTurn | undefined;
    const letGo = gate();
    const world = await atWork(async (given) => {
      turn = given;
      await letGo.opened;
      throw new Error('too late');
    });
    world.taken.add('s1');
    await world.clock.advance(limits.renewMs);
    expect(whyOf(turn?.signal.reason)).toBe('lost');
    expect(await fates(turn!)).toEqual(Array.from({ length: 5 }, () => 'lost'));
    letGo.open();
    await world.clock.advance(60_000);
    expect([world.appends, world.endings]).toEqual([[], []]);
  });

  test.each(['fenced', 'closed', 'deleted', 'unknown_session'] as const)(
    'learns of it by an append that comes out as %s [pg-boss#555]',
    async (kind) => {
      const go = gate();
      let turn: AgentTurn | undefined;
      const world = await atWork(async (given) => {
        turn = given;
        await go.opened;
        await given.append('note', 1);
        await given.flush();
      });
      world.outcome = { kind };
      go.open();
      await world.clock.settle();
      expect(whyOf(turn?.signal.reason)).toBe('lost');
      expect([world.appends.length, world.endings]).toEqual([1, []]);
    },
  );

  test('learns of it by its end, which is asked for once', async () => {
    const go = gate();
    const world = await atWork(() => go.opened);
    let asked = 0;
    world.before = (what) => Promise.resolve(void (asked += what === 'finished' ? 1 : 0));
    world.taken.add('s1');
    go.open();
    await world.clock.advance(60_000);
    expect([asked, world.endings]).toEqual([1, []]);
  });

  test('learns of it by what it is steered with', async () => {
    const go = gate();
    let fate: unknown;
    const world = await atWork(async (turn) => {
      await go.opened;
      fate = await turn.steering().catch(whyOf);
    });
    world.taken.add('s1');
    go.open();
    await world.clock.settle();
    expect([fate, world.endings]).toEqual(['lost', []]);
  });
});

describe('a question', () => {
  test('that is decided is answered, and one that is not ends the attempt behind what was said', async () => {
    const seen: unknown[] = [];
    const decided = {
      approval: 'a1',
      decision: 'approved',
      by: 'maya',
      comment: undefined,
      sequence: toSequence(4),
    } as const;
    const world = await atWork(
      async (turn) => {
        seen.push(await turn.approve('a1', { tool: 'refund' }));
        void turn.append('text.delta', 'and');
        await turn.approve('a2', { tool: 'courier', args: { to: 'Utrecht' }, reason: 'It costs.', call: 'c2' });
        seen.push('unreachable');
      },
      { decisions: [decided] },
    );
    expect(seen).toEqual([{ decision: 'approved', by: 'maya', comment: undefined, sequence: 4 }]);
    expect(world.told).toEqual([{ type: 'text.delta', data: 'and' }]);
    expect(world.endings).toEqual([
      {
        session: 's1',
        kind: 'waiting',
        questions: [
          { approval: 'a2', data: { tool: 'courier', args: { to: 'Utrecht' }, reason: 'It costs.', call: 'c2' } },
        ],
      },
    ]);
  });

  test('and others that are asked at the same time are one wait', async () => {
    const world = await atWork(async (turn) => {
      await Promise.all([turn.approve('a1', {}), turn.approve('a2', {})]);
    });
    expect(world.endings).toMatchObject([{ kind: 'waiting', questions: [{ approval: 'a1' }, { approval: 'a2' }] }]);
    expect(world.endings).toHaveLength(1);
  });

  test('that is asked twice at the same time is one', async () => {
    const world = await atWork(async (turn) => {
      await Promise.all([turn.approve('a1', {}), turn.approve('a1', {}), turn.approve('a2', {})]);
    });
    expect(world.endings).toMatchObject([{ kind: 'waiting', questions: [{ approval: 'a1' }, { approval: 'a2' }] }]);
  });

  test.each([
    ['has a bad id', 'malformed', (turn: AgentTurn) => turn.approve('a1,a2', {})],
    ['cannot be JSON', 'malformed', (turn: AgentTurn) => turn.approve('a1', { args: 1n })],
    ['no event holds', 'too_large', (turn: AgentTurn) => turn.approve('a1', { args: 'x'.repeat(limits.payloadBytes) })],
    [
      'is one too many',
      'malformed',
      (turn: AgentTurn) =>
        Promise.all(Array.from({ length: limits.approvalsPerWait + 1 }, (_, index) => turn.approve(`a${index}`, {}))),
    ],
  ])('that %s is refused where it is asked', async (_, code, ask) => {
    let refused: unknown;
    await atWork(async (turn) => {
      refused = await ask(turn).then(
        () => undefined,
        (thrown: unknown) => (thrown as LedgerlineError).code,
      );
    });
    expect(refused).toBe(code);
  });

  test('whose end an agent catches is the end all the same: nothing more is written', async () => {
    const world = await atWork(async (turn) => {
      await turn.approve('a1', {}).catch(() => undefined);
      expect(await fates(turn)).toEqual(Array.from({ length: 5 }, () => 'waiting'));
      throw new Error('and so it goes on');
    });
    expect(world.appends).toEqual([]);
    expect(world.endings.map(({ kind }) => kind)).toEqual(['waiting']);
    expect(world.lines()).not.toContain('and so it goes on');
  });

  test('that nobody awaits is asked all the same', async () => {
    const world = await atWork((turn) => {
      void turn.approve('a1', {});
      return Promise.resolve();
    });
    expect(world.endings.map(({ kind }) => kind)).toEqual(['waiting']);
  });

  test('that is refused is the agent’s to cope with, and the attempt goes on', async () => {
    const go = gate();
    const world = await atWork(async (turn) => {
      await go.opened;
      const code = await turn.approve('taken', {}).catch((thrown: unknown) => (thrown as LedgerlineError).code);
      await turn.append('note', code);
    });
    world.before = (what) =>
      what === 'waiting'
        ? Promise.reject(new LedgerlineError('approval_conflict', 'another turn asked it'))
        : Promise.resolve();
    go.open();
    await world.clock.settle();
    expect(world.told).toEqual([{ type: 'note', data: 'approval_conflict' }]);
    expect(world.endings.map(({ kind }) => kind)).toEqual(['finished']);
  });
});

describe('time', () => {
  test('that passes the deadline fails the turn for good, whatever the agent does', async () => {
    let turn: AgentTurn | undefined;
    const world = await atWork(
      (given) => {
        turn = given;
        return new Promise(() => undefined);
      },
      { remainingMs: 60_000 },
    );
    await world.clock.advance(60_000);
    expect(whyOf(turn?.signal.reason)).toBe('deadline');
    expect(world.endings).toMatchObject([{ kind: 'failed', error: { code: 'deadline' }, isRetryable: false }]);
    expect(world.renewals.length).toBeGreaterThan(3);
  });

  test('without a renewal ends the attempt before its lease does', async () => {
    let turn: AgentTurn | undefined;
    const world = await atWork((given) => {
      turn = given;
      return aborted(given.signal);
    });
    world.before = (what) => (what === 'renew' ? Promise.reject(away()) : Promise.resolve());
    await world.clock.advance(limits.selfStopMs - 1);
    expect(turn?.signal.aborted).toBe(false);
    await world.clock.advance(1);
    expect(whyOf(turn?.signal.reason)).toBe('lapsed');
    expect(world.endings).toEqual([]);
  });

  test('goes on for a lease whose head is held by somebody, but no further than the lease, and it is asked for again soon', async () => {
    let turn: AgentTurn | undefined;
    const world = await atWork((given) => {
      turn = given;
      return aborted(given.signal);
    });
    world.held.add('s1');
    await world.clock.advance(limits.selfStopMs - 1);
    expect(turn?.signal.aborted).toBe(false);
    expect(world.renewals.length).toBeGreaterThan(10);
    await world.clock.advance(1);
    expect(whyOf(turn?.signal.reason)).toBe('lapsed');
  });

  test('in which a renewal hangs ends the attempt as well', async () => {
    let turn: AgentTurn | undefined;
    const world = await atWork((given) => {
      turn = given;
      return aborted(given.signal);
    });
    world.before = (what) => (what === 'renew' ? new Promise(() => undefined) : Promise.resolve());
    await world.clock.advance(limits.selfStopMs);
    expect(whyOf(turn?.signal.reason)).toBe('lapsed');
  });

  test('that a blocked loop lost is seen by the first call behind it, before any timer [oban#1141]', async () => {
    const go = gate();
    let fate: string | undefined;
    const world = await atWork(async (turn, { clock }) => {
      await go.opened;
      clock.lookCostMs = limits.selfStopMs;
      fate = (await fates(turn))[0];
      clock.lookCostMs = 0;
    });
    go.open();
    await world.clock.settle();
    expect([fate, world.appends, world.endings]).toEqual(['lapsed', [], []]);
  });

  test('counts anew with each append and each renewal, from when they were sent', async () => {
    const go = gate();
    let turn: AgentTurn | undefined;
    const world = await atWork(async (given) => {
      turn = given;
      await go.opened;
      await given.append('note', 1);
      await given.flush();
      await aborted(given.signal);
    });
    world.before = (what) => (what === 'renew' ? Promise.reject(away()) : Promise.resolve());
    await world.clock.advance(20_000);
    go.open();
    await world.clock.advance(limits.selfStopMs - 1);
    expect(turn?.signal.aborted).toBe(false);
    await world.clock.advance(1);
    expect(whyOf(turn?.signal.reason)).toBe('lapsed');
  });
});
