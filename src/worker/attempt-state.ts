/** Whether an attempt may still write, and what its agent hears when it may not. */
import { toError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Lease } from './lease.ts';
import { TurnAborted } from './turn-aborted.ts';
import type { AbortWhy } from './turn-aborted.ts';

/**
 * `stopping`: asked to end, and what was begun may still be written. `settling`: the agent has no more say. `over`: nothing
 * more is written, whoever asks for it.
 */
type State = 'running' | 'stopping' | 'settling' | 'over';

/** Another attempt's; not renewed in time; given up by a worker that must go. */
export type LostWhy = Extract<AbortWhy, 'lost' | 'lapsed' | 'draining'>;

export interface AttemptState {
  readonly state: State;
  /** The agent's. */
  readonly signal: AbortSignal;
  /** Aborts when the attempt is over: whatever is still repeated for it ends. */
  readonly leaving: AbortSignal;
  /** Tells the agent why it must end; the first reason stands. */
  abort(why: AbortWhy): TurnAborted;
  /** From running to stopping; in any other state there is nothing to stop. */
  stop(why: 'stopped' | 'interrupted'): void;
  /** The state that it settles from; undefined if that has begun or is over. */
  settle(): 'running' | 'stopping' | undefined;
  /** What was to settle it was refused, and settled nothing. */
  goOn(): void;
  end(why: AbortWhy): void;
  /** It is not ours any more: nothing more is written [river#1135]. */
  lose(why: LostWhy): void;
  /** Why the agent may do nothing more, if so. */
  refusal(): Error | undefined;
  /** Throws that. */
  guard(): void;
}

export function createAttemptState(lease: Lease, log: Log): AttemptState {
  const aborting = new AbortController();
  const leaving = new AbortController();
  let state: State = 'running';

  function abort(why: AbortWhy): TurnAborted {
    const reason = new TurnAborted(why);
    if (!aborting.signal.aborted) aborting.abort(reason);
    return reason;
  }

  function end(why: AbortWhy): void {
    if (state === 'over') return;
    state = 'over';
    leaving.abort(abort(why));
  }

  function lose(why: LostWhy): void {
    // Whoever is just settling it is told by that request how it went; only the end of the lease cuts that short.
    if (state === 'over' || (state === 'settling' && why === 'lost')) return;
    end(why);
    log.warn({ why }, 'an attempt ends unsettled');
  }

  return {
    get state() {
      return state;
    },
    signal: aborting.signal,
    leaving: leaving.signal,
    abort,
    stop(why) {
      if (state !== 'running') return;
      state = 'stopping';
      abort(why);
    },
    settle() {
      if (state !== 'running' && state !== 'stopping') return undefined;
      const before = state;
      state = 'settling';
      return before;
    },
    goOn() {
      if (state === 'settling') state = 'running';
    },
    end,
    lose,
    refusal,
    guard() {
      const reason = refusal();
      if (reason !== undefined) throw reason;
    },
  };

  function refusal(): Error | undefined {
    // A look at the clock, since timers wait while the loop is blocked [oban#1141].
    if (state !== 'over' && lease.isOver) lose('lapsed');
    if (state !== 'settling' && state !== 'over') return undefined;
    return aborting.signal.aborted ? toError(aborting.signal.reason) : new TurnAborted('settled');
  }
}
