/** A worker in a world of the test's making: turns to claim, a ledger that keeps or refuses, and time that only the test moves. */
import { LedgerlineError } from '../../src/base/errors.ts';
import type { Service } from '../../src/base/service.ts';
import type { Wake } from '../../src/bus/bus.ts';
import { toCursor, toSequence } from '../../src/event/sequence.ts';
import type { AppendRequest, Outcome } from '../../src/ledger/ledger.ts';
import type { Attempt, ClaimedTurn, Question, Renewed, Settled, TurnError } from '../../src/turn/turns.ts';
import { defineAgent } from '../../src/worker/define-agent.ts';
import type { AgentDefinition } from '../../src/worker/define-agent.ts';
import { createWorker } from '../../src/worker/worker.ts';
import type { WorkerOptions } from '../../src/worker/worker.ts';
import { fakeSteps } from './fake-steps.ts';
import { manualClock } from './manual-clock.ts';
import { recordingLog } from './stub-gateway.ts';

/** What ended an attempt, in the order in which it came. */
export type Ending =
  | { readonly kind: 'finished'; readonly outcome: string; readonly events: readonly string[] }
  | { readonly kind: 'failed'; readonly error: TurnError; readonly isRetryable: boolean }
  | { readonly kind: 'waiting'; readonly questions: readonly Question[] }
  | { readonly kind: 'released' };

export interface Told {
  readonly type: string;
  readonly data: unknown;
}

const settled: Settled = { state: 'idle', status: 'done', sequence: undefined };

export function workerWorld(definition: Partial<AgentDefinition>, options: Partial<WorkerOptions> = {}) {
  const clock = manualClock();
  const { log, lines } = recordingLog();
  const ready: ClaimedTurn[] = [];
  const endings: (Ending & { readonly session: string })[] = [];
  const claims: number[] = [];
  const appends: AppendRequest[] = [];
  const told: Told[] = [];
  const renewals: (readonly Attempt[])[] = [];
  let wakeClaim: (() => void) | undefined;
  let listener: ((wake: Wake) => void) | undefined;

  const world = {
    clock,
    lines,
    endings,
    /** The limit of each claim. */
    claims,
    appends,
    /** What was stored, event by event. */
    told,
    /** Of each renewal, who was in it. */
    renewals,
    /** So many more turns than it asks for come of each claim. */
    surplus: 0,
    /** Sessions whose turn is not this worker's any more. */
    taken: new Set<string>(),
    /** Sessions whose head somebody holds: their leases stay as they are. */
    held: new Set<string>(),
    /** Sessions that are asked to stop. */
    stops: new Map<string, 'stop' | 'interrupt'>(),
    /** The journal of the turn of s1. */
    steps: fakeSteps((attempt) => owned(attempt)),
    steering: [] as { sequence: number; content: string }[],
    /** Of each request for them, the last input that the worker has. */
    steered: [] as (number | undefined)[],
    /** Whatever is asked for meets this first. */
    before: (_what: string): Promise<void> => Promise.resolve(),
    /** What an append comes to, unless it is to be stored. */
    outcome: undefined as Outcome | undefined,
    claimable(session: string, more: Partial<ClaimedTurn> = {}): void {
      ready.push(claimedTurn(session, more));
      wakeClaim?.();
    },
    hint: (wake: Wake) => listener?.(wake),
    worker: undefined as unknown as Service,
  };

  function owned(attempt: Attempt): void {
    if (world.taken.has(attempt.session)) throw new LedgerlineError('fenced', 'a newer attempt owns the turn');
  }

  async function ends(attempt: Attempt, ending: Ending): Promise<Settled> {
    await world.before(ending.kind);
    owned(attempt);
    endings.push({ ...ending, session: attempt.session });
    return settled;
  }

  const turns: WorkerOptions['turns'] = {
    steps: world.steps,
    async claim({ limit }, signal) {
      claims.push(limit);
      await world.before('claim');
      if (ready.length === 0 && signal?.aborted !== true) {
        await new Promise<void>((resolve) => {
          const wake = (): void => {
            signal?.removeEventListener('abort', wake);
            resolve();
          };
          signal?.addEventListener('abort', wake);
          wakeClaim = wake;
        });
      }
      return ready.splice(0, limit + world.surplus);
    },
    async renew(attempts) {
      renewals.push(attempts);
      await world.before('renew');
      return attempts
        .filter(({ session }) => !world.taken.has(session))
        .map((attempt): Renewed => ({
          ...attempt,
          stop: world.stops.get(attempt.session),
          hasSteering: false,
          isExtended: !world.held.has(attempt.session),
        }));
    },
    async steer(attempt, after) {
      world.steered.push(after);
      await world.before('steer');
      owned(attempt);
      return world.steering.splice(0).map(({ sequence, content }) => input(sequence, content));
    },
    finish: (attempt, outcome, events) =>
      ends(attempt, { kind: 'finished', outcome, events: events.map(({ type }) => type) }),
    fail: (attempt, error, isRetryable) => ends(attempt, { kind: 'failed', error, isRetryable }),
    wait: (attempt, questions) => ends(attempt, { kind: 'waiting', questions }),
    release: (attempt) => ends(attempt, { kind: 'released' }),
  };

  const sessions: WorkerOptions['sessions'] = {
    async append(request): Promise<Outcome> {
      appends.push(request);
      await world.before('append');
      if (world.taken.has(request.session)) return { kind: 'fenced' };
      if (world.outcome !== undefined) return world.outcome;
      const first = toSequence(told.length + 1);
      told.push(...request.events.map(({ type, data }) => ({ type, data: JSON.parse(data) as unknown })));
      return { kind: 'appended', first, last: toSequence(told.length), at: '2026-11-30T04:00:00.000Z' };
    },
    history: (_session, range) =>
      Promise.resolve({
        events: [JSON.stringify({ sequence: 1, type: 'asked', data: range })],
        first: undefined,
        last: undefined,
        head: undefined,
      }),
  };

  world.worker = createWorker({
    agent: defineAgent({ name: 'test', run: () => Promise.resolve(), ...definition }),
    turns,
    sessions,
    bus: {
      onWake(one) {
        listener = one;
        return { unsubscribe: () => void (listener = undefined) };
      },
    },
    log,
    clock,
    sleep: (delayMs, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted === true) return resolve();
        const done = (): void => {
          timer.cancel();
          signal?.removeEventListener('abort', done);
          resolve();
        };
        const timer = clock.after(delayMs, done);
        signal?.addEventListener('abort', done);
      }),
    ...options,
  });
  return world;
}

export type WorkerWorld = ReturnType<typeof workerWorld>;

export const input = (sequence: number, content: string) => ({
  sequence: toSequence(sequence),
  at: '2026-11-30T04:00:00.000Z',
  data: JSON.stringify({ key: `k${sequence}`, role: 'user', content, by: 'maya', onBusy: 'enqueue' }),
});

function claimedTurn(session: string, more: Partial<ClaimedTurn>): ClaimedTurn {
  return {
    session,
    turn: `turn-of-${session}`,
    attempt: 1,
    tryNumber: 1,
    maxAttempts: 3,
    leaseMs: 30_000,
    deadline: '2026-11-30T04:00:00.000Z',
    remainingMs: 4 * 3_600_000,
    head: toCursor(2),
    inputs: [input(1, 'hello')],
    decisions: [],
    ...more,
  };
}

/** A promise that the test settles. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

export const away = () => new LedgerlineError('unavailable', 'Postgres is away');
