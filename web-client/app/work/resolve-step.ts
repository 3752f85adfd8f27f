/** What became of a step in doubt: said to the server, asked of a person, and what there is to say when it is refused. */
import { systemClock } from '../../src/clock.ts';
import type { FollowError } from '../../src/follow-error.ts';
import { createRequester } from '../../src/requester.ts';
import { createSessionActions } from '../../src/session-actions.ts';
import type { Verdict } from '../../src/session-actions.ts';
import { tokenOrNothing } from '../access/token.ts';

export type Outcome = Verdict['outcome'];

/** A step of a session's turn, resolved by this browser's reader. Rejects with a `FollowError`. */
export type Resolve = (turn: string, step: number, verdict: Verdict, isResumed: boolean) => Promise<void>;

export function resolveIn(session: string): Resolve {
  const requester = createRequester({ url: '', token: tokenOrNothing });
  const actions = createSessionActions(session, requester, systemClock);
  return (turn, step, verdict, isResumed) => actions.resolve(turn, step, verdict, isResumed);
}

interface TypedResult {
  readonly value: unknown;
  /** Why it cannot be read; `value` is nothing then. */
  readonly problem?: string;
}

/** A result as it was typed: nothing is `null`. */
export function readResult(text: string): TypedResult {
  if (text.trim() === '') return { value: null };
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { value: undefined, problem: `That is not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}

/** What follows, before it is done. */
export function toConsequence(outcome: Outcome, tool: string, isResumed: boolean): string {
  const journal =
    outcome === 'done'
      ? `The journal keeps ${tool} as done, with this result: it is not called again, and nobody else is told of it.`
      : isResumed
        ? `The journal forgets the call, and ${tool} is called again.`
        : `The journal forgets the call: ${tool} is called again whenever the turn goes on.`;
  const turn = isResumed
    ? 'The turn goes on as soon as none of its steps is in doubt.'
    : 'The turn stays as it is until somebody goes on with it.';
  return `${journal} ${turn}`;
}

/** Why it was refused, and what can be done instead. Nothing was kept of it. */
export function toRefusalWords({ problem, message }: FollowError): string {
  switch (problem ?? '') {
    case 'step_settled':
      return 'It was told before what became of this step, by somebody else or by its worker. Retry the turn under “Needs attention”.';
    case 'step_unknown':
      return 'The journal has no such step any more: it was told before that it did not happen.';
    case 'turn_busy':
      return 'The agent is at another turn, so this one cannot go on now. Wait for its end, or resolve it without going on.';
    case 'turn_over':
      return `This turn cannot go on: ${message}. Resolve it without going on.`;
    case 'session_closed':
      return 'The session is closed, and no turn of it goes on. Resolve it without going on.';
    default:
      return message;
  }
}
