/** What the followers of one session in the tabs of one browser tell each other, and the channel that carries it. */
import type { Reset, WaitCause } from './recipient.ts';
import type { SessionEvent } from './session-event.ts';
import type { Wake } from './surroundings.ts';

/** How the connection of the leader is. */
export type LeaderState =
  | { readonly kind: 'connecting' | 'replaying' | 'live' }
  /** `until` is the wall clock's, which all tabs share. */
  | { readonly kind: 'waiting'; readonly cause: WaitCause; readonly until: number; readonly attempt: number };

/** What a leader says. */
export type Statement =
  | { readonly kind: 'events'; readonly events: readonly SessionEvent[] }
  /** Where it is. Without a head it has not been served yet. */
  | { readonly kind: 'here'; readonly cursor: number; readonly head?: number | undefined; readonly state: LeaderState }
  | { readonly kind: 'reset'; readonly reset: Reset }
  /** There is nothing after `cursor`. */
  | { readonly kind: 'end'; readonly reason: 'closed' | 'deleted'; readonly cursor: number };

/** A later leader has a larger term: what an earlier one still says is void. */
export type LeaderMessage = Statement & { readonly term: number };

export type TabMessage =
  | LeaderMessage
  /** Whoever leads says at once where it is, and looks after its connection when something woke the one that asks. */
  | { readonly kind: 'ask'; readonly wake: Wake | undefined };

export interface TabChannel {
  post(message: TabMessage): void;
  close(): void;
}

/** `hear` gets what every other follower of that name posts, in other tabs and in this one. */
export type OpenTabChannel = (name: string, hear: (message: TabMessage) => void) => TabChannel;

export const openTabChannel: OpenTabChannel = (name, hear) => {
  const channel = new BroadcastChannel(name);
  channel.addEventListener('message', ({ data }: MessageEvent<TabMessage>) => hear(data));
  return { post: channel.postMessage.bind(channel), close: channel.close.bind(channel) };
};
