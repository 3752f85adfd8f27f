/** What a session's agent does. */

/** Nothing; there is work to claim; an attempt runs; a turn waits for a person's decision. */
export const turnStates = ['idle', 'ready', 'running', 'waiting'] as const;
export type TurnState = (typeof turnStates)[number];

/** How a running attempt is asked to end: for good, or to make room for a newer message. */
export type StopMode = 'stop' | 'interrupt';

/** What a session's agent does now, for whoever looks. */
export interface TurnNow {
  readonly state: TurnState;
  readonly turn: string | undefined;
  readonly attempt: number | undefined;
  readonly stop: StopMode | undefined;
}

/** What may happen to a session's agent. `stays`: it is noted, and the state is as before. */
export type TurnMove = 'stays' | 'idle' | 'ready' | 'debounced' | 'claimed' | 'waiting' | 'stopping';

/** Where each leads; undefined is no way. Claims start from `ready` alone, so nothing runs twice. */
export const turnTransitions: Readonly<Record<TurnState, Readonly<Record<TurnMove, TurnState | undefined>>>> = {
  idle: {
    stays: 'idle',
    idle: 'idle',
    ready: 'ready',
    debounced: undefined,
    claimed: undefined,
    waiting: undefined,
    stopping: undefined,
  },
  ready: {
    stays: 'ready',
    idle: 'idle',
    ready: 'ready',
    debounced: 'ready',
    claimed: 'running',
    waiting: undefined,
    stopping: undefined,
  },
  running: {
    stays: 'running',
    idle: 'idle',
    ready: 'ready',
    debounced: undefined,
    claimed: undefined,
    waiting: 'waiting',
    stopping: 'running',
  },
  waiting: {
    stays: 'waiting',
    idle: 'idle',
    ready: 'ready',
    debounced: undefined,
    claimed: undefined,
    waiting: undefined,
    stopping: undefined,
  },
};
