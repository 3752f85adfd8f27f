/** The states of a follower and what moves it from one to the next: a total table (pure). */

export type State = 'connecting' | 'replaying' | 'live' | 'waiting' | 'stopped';

export type Input =
  /** The stream is served, or the leading tab has spoken: what lies between the cursor and the head comes now. */
  | 'hello'
  /** Everything up to the head at joining is there. */
  | 'connected'
  /** The connection is gone and will be tried again later. */
  | 'lost'
  /** The wait is over, or was cut short. */
  | 'due'
  /** The session ended, the server refused for good, or nobody wants to follow any more. */
  | 'stop';

/** Whatever came last shows where it is. */
const open = { hello: 'replaying', connected: 'live', lost: 'waiting', due: 'connecting', stop: 'stopped' } as const;

export const transitions: Readonly<Record<State, Readonly<Record<Input, State>>>> = {
  connecting: open,
  replaying: open,
  live: open,
  waiting: open,
  stopped: { hello: 'stopped', connected: 'stopped', lost: 'stopped', due: 'stopped', stop: 'stopped' },
};
