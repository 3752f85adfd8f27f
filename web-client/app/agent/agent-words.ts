/** What the session's agent does, in words: from the turn's state alone, never from who spoke last (pure). */
import type { TurnNow } from '../../src/turn-now.ts';
import { formatElapsed } from '../base/format.ts';
import type { Ending } from './last-turn.ts';

export interface AgentWords {
  readonly tone: 'quiet' | 'busy' | 'waiting' | 'failed';
  readonly label: string;
  /** For the eye alone: it changes every second. */
  readonly time?: string;
  /** A sentence, where there is more to say. */
  readonly detail?: string;
}

/** From when on a queued message says that there may be nobody to take it. */
const LONG_MS = 5_000;

/** `ending`: so the last turn came to its end. */
export function toAgentWords(turn: TurnNow, nowMs: number, ending: Ending = 'other'): AgentWords {
  const sinceMs = turn.since === undefined ? nowMs : Date.parse(turn.since);
  const time = turn.since === undefined ? {} : { time: formatElapsed(nowMs - sinceMs) };
  switch (turn.state) {
    case 'idle':
      return toIdleWords(turn, ending);
    case 'queued': {
      const isLong = nowMs - sinceMs >= LONG_MS;
      return { tone: 'busy', label: 'Queued', ...time, ...(isLong && { detail: 'No agent has taken it yet.' }) };
    }
    case 'running':
      return { tone: 'busy', label: 'Working', ...time, ...(isRepeated(turn) && { detail: `Try ${turn.try}.` }) };
    case 'stopping':
      return { tone: 'busy', label: 'Stopping', ...time };
    case 'waiting':
      return { tone: 'waiting', label: 'Waits for a decision', ...time };
    case 'retrying':
      return { tone: 'waiting', label: 'Tries again', ...toRetryWords(turn, nowMs) };
  }
}

/** What a screen reader hears when the state changes: no time, which would never be quiet. */
export function toSpokenAgent(turn: TurnNow, ending?: Ending): string {
  const { label, detail } = toAgentWords(turn, turn.since === undefined ? 0 : Date.parse(turn.since), ending);
  return detail === undefined ? `The agent: ${label}` : `The agent: ${label}. ${detail}`;
}

function toIdleWords({ error }: TurnNow, ending: Ending): AgentWords {
  if (ending === 'resolved')
    return { tone: 'quiet', label: 'Resolved', detail: 'The turn goes on when it is asked to.' };
  if (ending === 'in_doubt') return { tone: 'waiting', label: 'In doubt', ...(error && { detail: error.message }) };
  if (error !== undefined) return { tone: 'failed', label: 'Failed', detail: toErrorWords(error) };
  return { tone: 'quiet', label: ending === 'cancelled' ? 'Cancelled' : 'Idle' };
}

const isRepeated = (turn: TurnNow): boolean => (turn.try ?? 1) > 1;

function toRetryWords({ retryAt, error }: TurnNow, nowMs: number): Pick<AgentWords, 'time' | 'detail'> {
  const leftMs = retryAt === undefined ? 0 : Date.parse(retryAt) - nowMs;
  return {
    time: leftMs > 0 ? `in ${Math.ceil(leftMs / 1_000)} s` : 'now',
    ...(error !== undefined && { detail: toErrorWords(error) }),
  };
}

const toErrorWords = ({ code, message }: { readonly code: string; readonly message: string }): string =>
  code === '' ? message : `${code}: ${message}`;
