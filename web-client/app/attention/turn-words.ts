/** A listed turn in words, and what there is to do about it (pure). */
import { formatInteger } from '../base/format.ts';
import type { ListedTurn, TurnAction } from './turn-list.ts';

export interface TurnWords {
  readonly tone: 'busy' | 'waiting' | 'failed' | 'quiet';
  readonly label: string;
}

export function toTurnWords({ status, state }: ListedTurn): TurnWords {
  switch (status) {
    case 'queued':
      return { tone: 'busy', label: 'Queued' };
    case 'open':
      return state === 'ready' ? { tone: 'waiting', label: 'To be tried again' } : { tone: 'busy', label: 'Running' };
    case 'waiting':
      return { tone: 'waiting', label: 'Waits for a decision' };
    case 'failed':
      return { tone: 'failed', label: 'Failed' };
    case 'in_doubt':
      return { tone: 'waiting', label: 'In doubt' };
    case 'done':
      return { tone: 'quiet', label: 'Done' };
    case 'cancelled':
      return { tone: 'quiet', label: 'Cancelled' };
  }
}

/** `2 of 3 tries`; nothing where nobody has tried. */
export function toTryWords({ tries, maxAttempts }: ListedTurn): string | undefined {
  if (tries === 0) return undefined;
  return maxAttempts === null
    ? `try ${formatInteger(tries)}`
    : `${formatInteger(tries)} of ${formatInteger(maxAttempts)} tries`;
}

interface May {
  readonly send: boolean;
  readonly write: boolean;
}

/** What to do about it, the likeliest first. A decision is taken in the session, where everything is there to see. */
export function actionsFor({ status, doubts }: ListedTurn, may: May): readonly TurnAction[] {
  switch (status) {
    case 'failed':
      return may.write ? ['retry', 'rerun', 'acknowledge'] : [];
    case 'in_doubt':
      // What is in doubt is resolved first, or it would be done again.
      if (doubts.length > 0) return may.write ? ['acknowledge'] : [];
      return may.write ? ['retry', 'rerun', 'acknowledge'] : [];
    case 'queued':
    case 'open':
    case 'waiting':
      return may.send ? ['stop'] : [];
    case 'done':
    case 'cancelled':
      return [];
  }
}

export const actionWords: Readonly<Record<TurnAction, { readonly label: string; readonly title: string }>> = {
  retry: { label: 'Retry', title: 'Tries this turn once more, with the same messages' },
  rerun: { label: 'Rerun', title: 'Begins a new turn with the same messages' },
  acknowledge: { label: 'Acknowledge', title: 'Takes it off this list' },
  stop: { label: 'Stop', title: 'Stops it; what it has written stays' },
};
