/** What the agent does, told by events alone: from the beginning, from anywhere in the middle, and after any cut. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { SessionEvent } from '../../../web-client/src/session-event.ts';
import { addOlder, dropOlder } from '../../../web-client/src/timeline-window.ts';
import { emptyTimeline, foldEvents, turnOf } from '../../../web-client/src/timeline.ts';
import type { TurnNow } from '../../../web-client/src/turn-now.ts';
import { foldOf, foldTurn, toldBy } from '../../../web-client/src/turn-now.ts';
import { anyEvents, numbered } from '../../support/told-session.ts';
import { toldTurns } from '../../support/told-turns.ts';

type Line = readonly [type: string, data: object];

const events = (lines: readonly Line[], first = 1): SessionEvent[] =>
  numbered(
    lines.map(([type, data]) => ({ type, data })),
    first,
  );
const after = (...lines: readonly Line[]): TurnNow | undefined => turnOf(foldEvents(emptyTimeline, events(lines)));
const at = (sequence: number): string => `2026-11-30T04:00:00.00${sequence}Z`;

const asks: Line = ['message.created', { key: 'k', role: 'user', content: 'Q', onBusy: 'enqueue' }];
const of = (state: string, more: object = {}): Line => [`turn.${state}`, { turn: 't1', attempt: 5, ...more }];
const started = of('started', { try: 1, inputs: [1] });

describe('the agent', () => {
  test('is idle before anything is asked, and a record asks for nothing', () => {
    expect(after(['note', {}])).toEqual({ state: 'idle' });
    expect(after(['message.created', { key: 'k', role: 'user', content: 'Q' }])).toEqual({ state: 'idle' });
  });

  test('is queued by a message, runs, and is idle again', () => {
    expect(after(asks)).toEqual({ state: 'queued', since: at(1) });
    expect(after(asks, started)).toEqual({ state: 'running', turn: 't1', attempt: 5, try: 1, since: at(2) });
    expect(after(asks, started, of('completed', { inputs: [1] }))).toEqual({ state: 'idle', since: at(3) });
  });

  test('is thinking whoever spoke last: it is its state, and no guess', () => {
    const delta: Line = ['text.delta', { message: 'm', text: 'Well' }];
    expect(after(asks, started, delta, ['message.completed', { message: 'm', content: 'Well' }])?.state).toBe(
      'running',
    );
    expect(after(asks, started, of('completed', { inputs: [1] }), ['message.created', { role: 'user' }])?.state).toBe(
      'idle',
    );
  });

  test('is queued behind a turn that did not take what was said meanwhile', () => {
    const end = of('completed', { inputs: [1] });
    expect(after(asks, started, asks, end)).toEqual({ state: 'queued', since: at(4) });
    expect(after(asks, started, asks, of('steered', { inputs: [3] }), end)?.state).toBe('idle');
  });

  test('is stopping until the worker has ended', () => {
    const stopping = of('stopping', { by: 'me', mode: 'stop' });
    expect(after(asks, started, stopping)).toEqual({ state: 'stopping', turn: 't1', attempt: 5, try: 1, since: at(3) });
    expect(after(asks, started, stopping, of('cancelled', { inputs: [1] }))?.state).toBe('idle');
  });

  test('is idle when its messages were taken back before any turn began', () => {
    expect(after(asks, asks, ['turn.cancelled', { inputs: [1, 2], reason: 'stopped' }])?.state).toBe('idle');
  });

  test('waits until the last question is decided, and is then to be claimed again', () => {
    const waiting = of('waiting', { approvals: ['a', 'b'] });
    const decided = (approval: string): Line => ['approval.decided', { turn: 't1', approval, decision: 'approved' }];
    expect(after(asks, started, waiting)).toMatchObject({ state: 'waiting', turn: 't1', since: at(3) });
    expect(after(asks, started, waiting, decided('b'))?.state).toBe('waiting');
    expect(after(asks, started, waiting, decided('b'), decided('a'))).toMatchObject({ state: 'queued', turn: 't1' });
  });

  test('tells when the next attempt is due, and why', () => {
    const error = { code: 'overloaded', message: 'Later.' };
    const retrying = of('retrying', { reason: 'failed', inMs: 2_000, error });
    const retryAt = '2026-11-30T04:00:02.003Z';
    expect(after(asks, started, retrying)).toMatchObject({ state: 'retrying', retryAt, error, since: at(3) });
    expect(after(asks, started, retrying, of('started', { try: 2, inputs: [1] }))).toEqual({
      state: 'running',
      turn: 't1',
      attempt: 5,
      try: 2,
      since: at(4),
    });
    for (const inMs of [Infinity, 1e300, 'soon', undefined]) {
      expect(after(asks, started, of('retrying', { inMs }))?.state).toBe('retrying');
    }
  });

  test('tells the error of the last turn until the next one begins', () => {
    const error = { code: 'broken', message: 'It broke.' };
    const failed = of('failed', { inputs: [1], error });
    expect(after(asks, started, failed)).toEqual({ state: 'idle', since: at(3), error });
    expect(after(asks, started, failed, asks)).toEqual({ state: 'queued', since: at(4), error });
    expect(after(asks, started, failed, asks, of('started', { turn: 't2', inputs: [4] }))).not.toHaveProperty('error');
  });

  test('is idle when a turn is in doubt, and tells which step a person must resolve, until the turn goes on', () => {
    const doubtful = [asks, started, of('in_doubt', { inputs: [1], step: 2 })];
    expect(after(...doubtful)).toMatchObject({ state: 'idle', error: { code: 'in_doubt' } });
    expect(after(...doubtful)?.error?.message).toContain('step 2');
    expect(after(...doubtful, of('retrying', { reason: 'asked', by: 'me', inputs: [1], inMs: 0 }))).toMatchObject({
      state: 'retrying',
      turn: 't1',
    });
  });

  test('is queued when a turn is to be done anew', () => {
    const over = [asks, started, of('completed', { inputs: [1] })];
    const requested: Line = ['turn.requested', { turn: 't1', by: 'me', inputs: [1] }];
    expect(after(...over, requested)?.state).toBe('queued');
    const again: Line = ['turn.started', { turn: 't2', attempt: 6, inputs: [1] }];
    expect(after(...over, requested, again, ['turn.completed', { turn: 't2', attempt: 6, inputs: [1] }])?.state).toBe(
      'idle',
    );
  });
});

describe('a window that begins in the middle', () => {
  const window = (...lines: readonly Line[]): TurnNow | undefined =>
    turnOf(foldEvents(emptyTimeline, events(lines, 40)));
  const [began, ended] = [of('started', { inputs: [9] }), of('completed', { inputs: [9] })];
  const next: Line = ['turn.started', { turn: 't2', attempt: 6, try: 1, inputs: [10] }];

  test('tells what began in it, and not what was pending before it', () => {
    expect(window(['note', {}])).toBeUndefined();
    expect(window(began)?.state).toBe('running');
    expect(window(began, ended)).toBeUndefined();
    expect(window(began, ended, next)?.state).toBe('running');
  });

  test('knows that nothing is pending once a new turn has begun, which takes all there is', () => {
    expect(window(began, ended, next, ['turn.completed', { turn: 't2', attempt: 6, inputs: [10] }])?.state).toBe(
      'idle',
    );
  });

  test('does not know which decision is the last where it has not seen the questions', () => {
    const waiting = foldOf({ state: 'waiting', turn: 't1', attempt: 5, stop: null });
    const [decided] = events([['approval.decided', { turn: 't1', approval: 'a', decision: 'approved' }]], 40);
    expect([toldBy(waiting)?.state, decided && toldBy(foldTurn(waiting, decided))]).toEqual(['waiting', undefined]);
  });
});

describe('whatever was told', () => {
  test('it is what the server knows, after every event, in whatever batches they come', () => {
    fc.assert(
      fc.property(toldTurns, fc.nat({ max: 60 }), ({ events: all, states }, cut) => {
        states.forEach(({ state, turn }, index) => {
          const timeline = foldEvents(
            foldEvents(emptyTimeline, all.slice(0, Math.min(cut, index))),
            all.slice(0, index + 1),
          );
          expect(turnOf(timeline)).toMatchObject({ state });
          expect(turnOf(timeline)?.turn).toBe(turn);
        });
      }),
      { numRuns: 60 },
    );
  });

  test('a window that begins in the middle says the same, or nothing; and something from the first event of a turn that goes on', () => {
    fc.assert(
      fc.property(toldTurns, fc.nat({ max: 60 }), ({ events: all, states }, from) => {
        const window = all.slice(from);
        const first = window.findIndex(({ type }) => /^turn\.(?:started|waiting|stopping|retrying)$/.test(type));
        let isTold = false;
        window.forEach((_, index) => {
          const now = turnOf(foldEvents(emptyTimeline, window.slice(0, index + 1)));
          if (now !== undefined) {
            expect(now.state).toBe(states[from + index]?.state);
            expect(now.turn).toBe(states[from + index]?.turn);
          }
          if (index === first) expect(now, 'the event tells').toBeDefined();
          isTold ||= now !== undefined;
        });
        if (first >= 0) expect(isTold).toBe(true);
      }),
      { numRuns: 200 },
    );
  });

  test('it stays when older items go, and comes when they are there again', () => {
    fc.assert(
      fc.property(toldTurns, fc.nat({ max: 60 }), ({ events: all, states }, from) => {
        const whole = foldEvents(emptyTimeline, all);
        const last = states.at(-1)?.state;
        expect(turnOf(dropOlder(whole, from))?.state).toBe(last);
        const part = foldEvents(emptyTimeline, all.slice(from));
        if (all.length > 0) expect(turnOf(addOlder(part, all, all[from]?.sequence))?.state).toBe(last);
      }),
      { numRuns: 60 },
    );
  });

  test('what the server described, with the events since then, is what the server knows', () => {
    fc.assert(
      fc.property(toldTurns, fc.nat({ max: 60 }), fc.nat({ max: 5 }), ({ events: all, states }, from, late) => {
        if (states.length === 0) return;
        // it may describe a moment that is later than the last event that was here when it was asked
        const described = states[Math.min(from + late, states.length - 1)];
        if (described === undefined) return;
        const { state, turn = null } = described;
        const words = {
          queued: 'ready',
          retrying: 'ready',
          stopping: 'running',
          idle: 'idle',
          running: 'running',
          waiting: 'waiting',
        } as const;
        const facts = { state: words[state], turn, attempt: null, stop: state === 'stopping' ? 'stop' : null } as const;
        const now = toldBy(all.slice(from + 1).reduce(foldTurn, foldOf(facts)));
        const known = states.at(-1);
        if (now === undefined) return;
        // a turn that is to be claimed again may be told as one that is tried again
        const isAlike = now.turn !== undefined && now.state === 'retrying' && known?.state === 'queued';
        if (!isAlike) expect(now.state).toBe(known?.state);
        expect(now.turn).toBe(known?.turn);
      }),
      { numRuns: 300 },
    );
  });

  test('a description of a later moment makes no turn a new one, which would have taken all that was pending', () => {
    const described = foldOf({ state: 'ready', turn: null, attempt: null, stop: null });
    const time = '2026-11-30T04:00:00.000Z';
    const told = [
      { sequence: 8, at: time, type: 'turn.started', data: { turn: 't1', attempt: 2, try: 2, inputs: [1] } },
      { sequence: 9, at: time, type: 'turn.completed', data: { turn: 't1', attempt: 2, inputs: [1] } },
    ];
    expect(toldBy(told.reduce(foldTurn, described))).toBeUndefined();
  });

  test('nothing makes it throw', () => {
    fc.assert(
      fc.property(anyEvents, (all) => void turnOf(foldEvents(emptyTimeline, all))),
      { numRuns: 200 },
    );
  });
});
