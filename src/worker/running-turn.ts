/** One attempt at a turn, from its claim to whatever ends it: runs the agent, and settles what came of it. */
import type { Clock, sleep } from '../base/clock.ts';
import { LedgerlineError, toError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { NewEvent } from '../event/event.ts';
import type { Sessions } from '../session/sessions.ts';
import { attemptName } from '../turn/attempt-name.ts';
import type { Attempt, ClaimedTurn, Question, Renewed, Settled, Turns } from '../turn/turns.ts';
import { failureOf } from './agent-error.ts';
import type { AgentTurn } from './agent-turn.ts';
import type { Agent, RunResult } from './define-agent.ts';
import { createAttemptSteps } from './attempt-steps.ts';
import { readDecisions, readHistory, readInput } from './agent-input.ts';
import { createAttemptState } from './attempt-state.ts';
import type { LostWhy } from './attempt-state.ts';
import { createLease } from './lease.ts';
import type { Lease } from './lease.ts';
import { addQuestion, questionOf } from './question.ts';
import { repeat } from './repeat.ts';
import { TurnAborted } from './turn-aborted.ts';
import type { WorkerSteps } from './turn-steps.ts';
import { unheard } from './unheard.ts';
import { createTurnWriter, newEvent } from './turn-writer.ts';

export interface RunningTurn {
  readonly attempt: Attempt;
  readonly lease: Lease;
  readonly leaseMs: number;
  /** By the monotonic clock. */
  readonly deadlineMs: number;
  readonly isOver: boolean;
  /** Resolves when `run` has ended and its end is settled; it never rejects. Until then the agent may be at work. */
  readonly done: Promise<void>;
  /** Its lease goes on; it may be asked to stop. */
  heard(renewed: Renewed): void;
  /** It is not ours any more: the agent is told, and nothing more is written [river#1135]. */
  lose(why: LostWhy): void;
  /** Ends it now, whatever the agent does: with a failure, or for another worker to go on. Resolves when it is settled. */
  cutShort(why: 'deadline' | 'draining'): Promise<void>;
}

export interface RunningTurnOptions {
  readonly agent: Agent;
  readonly turns: Pick<Turns, 'steer' | 'finish' | 'fail' | 'wait' | 'release'> & { readonly steps: WorkerSteps };
  readonly sessions: Pick<Sessions, 'append' | 'history'>;
  readonly clock: Clock;
  readonly sleep: typeof sleep;
  readonly log: Log;
  /** Of the lease's own, if left out. */
  readonly selfStopMs?: number | undefined;
}

export function runTurn(claimed: ClaimedTurn, options: RunningTurnOptions): RunningTurn {
  const { agent, turns, sessions, clock } = options;
  const attempt: Attempt = { session: claimed.session, turn: claimed.turn, attempt: claimed.attempt };
  const log = options.log.child(attemptName(claimed));
  const lease = createLease(clock, claimed.leaseMs, options.selfStopMs);
  const decisions = readDecisions(claimed.decisions);
  const life = createAttemptState(lease, log);
  const { signal } = life;
  const repeating = { clock, sleep: options.sleep, signal: life.leaving };
  const questions: Question[] = [];
  const heardInputs = new Set(claimed.inputs.map(({ sequence }) => sequence));
  let asking: Promise<never> | undefined;
  let ending: Promise<void> | undefined;

  const writer = createTurnWriter({ ...repeating, attempt, sessions, lease, onLost: () => life.lose('lost') });

  const steps = createAttemptSteps({ ...repeating, agent, turns, attempt, life, writer, lost, endFailed });

  /** One request that ends the attempt. Whatever comes of it, this was the end. */
  async function settle(what: string, request: () => Promise<Settled>): Promise<void> {
    try {
      const { status } = await repeat(request, repeating);
      log.info({ status }, what);
    } catch (thrown) {
      if (thrown instanceof TurnAborted) return;
      if (isFenced(thrown)) log.warn('an attempt could not be settled: its turn is not its own any more');
      else log.error({ err: toError(thrown) }, `${what}: refused; the turn is tried again when its lease is over`);
    } finally {
      life.end('settled');
    }
  }

  async function fail(thrown: unknown): Promise<void> {
    const { error, isRetryable } = failureOf(thrown);
    log.warn({ err: toError(thrown), isRetryable }, 'an agent failed');
    await settle('failed', () => turns.fail(attempt, error, isRetryable));
  }

  async function succeed(result: RunResult, isStopping: boolean): Promise<void> {
    let events: NewEvent[];
    try {
      events = (result ?? []).map(({ type, data }) => newEvent(type, data));
      await writer.flush();
    } catch (thrown) {
      if (!(thrown instanceof TurnAborted)) await fail(thrown);
      return;
    }
    const outcome = isStopping ? 'cancelled' : 'completed';
    await settle(outcome, () => turns.finish(attempt, outcome, events));
  }

  /** For what an agent cannot cope with, whatever it makes of the error. */
  async function endFailed(thrown: unknown): Promise<never> {
    const before = life.settle();
    if (before !== undefined) {
      life.abort('unsettled');
      await (ending = before === 'stopping' ? succeed([], true) : fail(thrown));
    }
    throw signal.reason ?? new TurnAborted('settled');
  }

  /** Asks everything that was asked for while the text before it was stored, and ends the attempt. */
  async function ask(): Promise<never> {
    try {
      await steps.concluded();
      await writer.flush();
      life.guard();
      if (life.state === 'stopping') throw signal.reason;
      life.settle();
      const asked = questions.splice(0);
      await repeat(() => turns.wait(attempt, asked), repeating);
      log.info({ approvals: asked.map(({ approval }) => approval) }, 'waiting');
    } catch (thrown) {
      // A question that cannot be asked is the agent's to cope with.
      if (!isFenced(thrown)) life.goOn();
      return lost(thrown);
    } finally {
      asking = undefined;
    }
    life.end('waiting');
    throw signal.reason;
  }

  const turn: AgentTurn = {
    ...attempt,
    tryNumber: claimed.tryNumber,
    inputs: claimed.inputs.map(readInput),
    traceparent: claimed.traceparent,
    decisions,
    signal,
    append(type, data, { isDelta } = {}) {
      // In the promise: what still speaks in a callback would throw into whoever calls it, and end the process.
      const refusal = life.refusal();
      return unheard(refusal === undefined ? writer.append(type, data, isDelta) : Promise.reject(refusal));
    },
    ...steps.ofAgent,
    flush: () => unheard(guarded(() => writer.flush())),
    history: (range) => unheard(guarded(() => repeat(() => readHistory(sessions, claimed.session, range), repeating))),
    steering: () =>
      unheard(
        guarded(async () => {
          steps.stale(); // each message that joins takes an index of the journal
          if (life.state === 'stopping') return [];
          // What was said before it is stored before it.
          await writer.flush();
          const last = [...heardInputs].at(-1);
          const joined = await repeat(() => turns.steer(attempt, last), repeating).catch(lost);
          // Two that ask at the same time may both be answered with the same.
          const others = joined.filter(({ sequence }) => !heardInputs.has(sequence));
          for (const { sequence } of others) heardInputs.add(sequence);
          return others.map(readInput);
        }),
      ),
    approve: (approval, request) =>
      unheard(
        guarded(() => {
          const decision = decisions.get(approval);
          if (decision !== undefined) return Promise.resolve(decision);
          if (life.state === 'stopping') throw signal.reason;
          addQuestion(questions, questionOf(approval, request));
          asking ??= unheard(ask());
          return asking;
        }),
      ),
  };

  async function guarded<T>(work: () => Promise<T>): Promise<T> {
    life.guard();
    return work();
  }

  function lost(thrown: unknown): never {
    if (!isFenced(thrown)) throw thrown;
    life.end('lost');
    throw signal.reason;
  }

  async function cut(why: 'deadline' | 'draining', message: string): Promise<void> {
    if (why === 'deadline') return settle('failed', () => turns.fail(attempt, { code: why, message }, false));
    await writer.flush().catch(() => undefined); // what cannot be stored is written anew by the next attempt
    await settle('released', () => turns.release(attempt));
  }

  async function live(): Promise<void> {
    let settling: (isStopping: boolean) => Promise<void>;
    try {
      const result = await agent.run(turn);
      settling = (isStopping) => succeed(result, isStopping);
    } catch (thrown) {
      // What an agent throws that was told to stop is only the way in which it stops [vercel/ai#5459].
      settling = (isStopping) => (isStopping ? succeed([], true) : fail(thrown));
    }
    // Somebody asked, and did not wait for the answer.
    await asking?.catch(() => undefined);
    await steps.concluded();
    const before = life.settle();
    if (before === undefined) return ending;
    await (ending = settling(before === 'stopping'));
  }

  return {
    attempt,
    lease,
    leaseMs: claimed.leaseMs,
    deadlineMs: clock.now() + claimed.remainingMs,
    get isOver() {
      return life.state === 'over';
    },
    done: live(),
    heard({ stop }) {
      if (stop !== undefined) life.stop(stop === 'stop' ? 'stopped' : 'interrupted');
    },
    lose: (why) => life.lose(why),
    cutShort(why) {
      const before = life.settle();
      if (before === undefined) return ending ?? Promise.resolve(asking).catch(() => undefined);
      const reason = life.abort(why);
      ending = steps.cut(reason).then(() => (before === 'stopping' ? succeed([], true) : cut(why, reason.message)));
      return ending;
    },
  };
}

const isFenced = (thrown: unknown): boolean => thrown instanceof LedgerlineError && thrown.code === 'fenced';
