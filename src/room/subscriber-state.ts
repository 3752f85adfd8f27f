/** The states of a subscriber, and what each does with whatever may happen (pure). */
import type { DenyReason, EndReason } from '../sse/frame.ts';

/** Why a stream ended, for the count of ends. */
export type StreamEnd = EndReason | DenyReason | 'draining' | 'stalled' | 'failed' | 'disconnected';

/**
 * live: waits at the watermark. paging: waits for history. stalled: waits until the socket has drained.
 * ending: has said its last, which is being sent. closed: the connection is gone.
 */
export type State = 'live' | 'paging' | 'stalled' | 'ending' | 'closed';

/** What may happen to it: the room has news, what it waits for has come, the socket has drained, its end was written, the connection closed. */
export type Stimulus = 'news' | 'page' | 'drain' | 'last' | 'close';

/** `pump`: go on reading. A state: go there. Total, so that no pair of state and stimulus is left to chance. */
export const reactions: { readonly [S in State]: { readonly [T in Stimulus]: 'pump' | State } } = {
  live: { news: 'pump', page: 'live', drain: 'live', last: 'ending', close: 'closed' },
  paging: { news: 'paging', page: 'pump', drain: 'paging', last: 'ending', close: 'closed' },
  stalled: { news: 'stalled', page: 'stalled', drain: 'pump', last: 'ending', close: 'closed' },
  ending: { news: 'ending', page: 'ending', drain: 'ending', last: 'ending', close: 'closed' },
  closed: { news: 'closed', page: 'closed', drain: 'closed', last: 'closed', close: 'closed' },
};
