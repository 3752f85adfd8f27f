/** The follower's state in words, and why it waits (pure). */
import type { End, WaitCause } from '../../src/recipient.ts';
import type { FollowerStatus } from '../../src/follower.ts';

export type Tone = 'live' | 'busy' | 'waiting' | 'ended' | 'refused';

export interface StatusWords {
  readonly tone: Tone;
  readonly label: string;
  /** A sentence, where there is more to say. */
  readonly detail?: string;
}

const causes: Readonly<Record<WaitCause, string>> = {
  cut: 'The connection was cut.',
  unreachable: 'The gateway cannot be reached.',
  silent: 'The connection fell silent.',
  draining: 'The gateway is restarting and gave this browser a slot.',
  fault: 'What came could not be right; reading again.',
  token: 'The token has to be renewed.',
  asked: 'The connection was severed here.',
};

export function toStatusWords(status: FollowerStatus, nowMs: number): StatusWords {
  switch (status.state) {
    case 'connecting':
      return { tone: 'busy', label: 'Connecting' };
    case 'replaying':
      return { tone: 'busy', label: 'Replaying' };
    case 'live':
      return { tone: 'live', label: 'Live' };
    case 'waiting':
      return { tone: 'waiting', label: `Retry in ${countdown(status.until - nowMs)}`, detail: causes[status.cause] };
    case 'stopped':
      return toEndWords(status.end);
  }
}

/** Rounded up, so that it never says 0 while it still waits. */
const countdown = (leftMs: number): string => `${Math.max(1, Math.ceil(leftMs / 1_000))} s`;

function toEndWords(end: End): StatusWords {
  switch (end.kind) {
    case 'ended':
      return end.reason === 'closed'
        ? { tone: 'ended', label: 'Ended', detail: 'The session is closed and all of it is here.' }
        : { tone: 'ended', label: 'Deleted', detail: 'The session was deleted.' };
    case 'refused':
      return { tone: 'refused', label: 'Refused', detail: end.error.message };
    case 'aborted':
      return { tone: 'ended', label: 'Stopped' };
  }
}

/** What a screen reader hears when the state changes: no countdown, which would never be quiet. */
export function toSpokenStatus(status: FollowerStatus): string {
  if (status.state === 'waiting') return `Waiting to come back. ${causes[status.cause]}`;
  const { label, detail } = toStatusWords(status, 0);
  return detail === undefined ? label : `${label}. ${detail}`;
}
