/** The list of sessions as it is shown: its order, what is found in it, and what each row says (pure). */
import type { ListedSession } from '../../src/session-list.ts';
import { formatAge, formatInteger } from '../base/format.ts';

/**
 * The fresh facts in the order of what is held: a list that reorders under the pointer cannot be clicked. What was not
 * there comes after it.
 */
export function arrange(held: readonly ListedSession[], fresh: readonly ListedSession[]): readonly ListedSession[] {
  const known = new Map(fresh.map((listed) => [listed.session, listed]));
  const kept = held.map((listed) => known.get(listed.session) ?? listed);
  const ids = new Set(held.map(({ session }) => session));
  return [...kept, ...fresh.filter(({ session }) => !ids.has(session))];
}

/** Those whose id or title holds the words, in any case. */
export function findSessions(sessions: readonly ListedSession[], words: string): readonly ListedSession[] {
  const wanted = words.trim().toLowerCase();
  if (wanted === '') return sessions;
  return sessions.filter((listed) =>
    [listed.session, titleOf(listed) ?? ''].some((name) => name.toLowerCase().includes(wanted)),
  );
}

/** The title in its metadata, where the application gave it one. */
export function titleOf({ metadata }: ListedSession): string | undefined {
  const { title } = Object(metadata) as { readonly title?: unknown };
  return typeof title === 'string' && title.trim() !== '' ? title.trim() : undefined;
}

export interface RowWords {
  readonly tone: 'quiet' | 'busy' | 'waiting' | 'failed';
  /** What the session's agent does, or what became of the session. */
  readonly words: string;
  readonly age: string;
}

/** `hasFailed`: its last turn failed, and nobody took note of it. */
export function toRowWords(listed: ListedSession, hasFailed: boolean, nowMs: number): RowWords {
  return { ...toStateWords(listed, hasFailed), age: formatAge(listed.activity, nowMs) };
}

function toStateWords({ state, turn, head }: ListedSession, hasFailed: boolean): Omit<RowWords, 'age'> {
  switch (turn.state) {
    case 'running':
      return { tone: 'busy', words: turn.stop === null ? 'working' : 'stopping' };
    case 'waiting':
      return { tone: 'waiting', words: 'waits for you' };
    case 'ready':
      return { tone: 'busy', words: turn.turn === null ? 'queued' : 'to go on' };
    case 'idle':
      if (hasFailed) return { tone: 'failed', words: 'failed' };
      return { tone: 'quiet', words: state === 'open' ? `head ${formatInteger(head)}` : state };
  }
}
