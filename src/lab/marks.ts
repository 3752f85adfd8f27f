/** What was lost and what repaired it, as marks on a session's ledger: the newest of each session, for the newest sessions [I6]. */
import type { Clock } from '../base/clock.ts';
import { labLimits } from '../base/lab-limits.ts';
import type { Repair } from '../room/held.ts';

interface Stamp {
  /** Rises from mark to mark, also over restarts of the process. */
  readonly id: number;
  /** By the gateway's clock: UTC with milliseconds, `2026-11-30T04:00:00.000Z`. */
  readonly at: string;
}

interface Lost {
  readonly kind: 'lost';
  readonly first: number;
  readonly last: number;
}

interface Repaired extends Repair {
  readonly kind: 'repaired';
}

export type Mark = Stamp & (Lost | Repaired);

export interface Marks {
  add(session: string, what: Lost | Repaired): void;
  /** In order; those with a higher id. */
  after(session: string, id: number): readonly Mark[];
}

export function createMarks(clock: Pick<Clock, 'wall'>): Marks {
  /** The session that was marked last is the last. */
  const sessions = new Map<string, Mark[]>();
  // Whoever asks for what comes after a mark of the process before must not wait for as many marks again.
  let id = Math.floor(clock.wall());

  return {
    add(session, what) {
      const marks = sessions.get(session) ?? [];
      sessions.delete(session);
      sessions.set(session, marks);
      id += 1;
      marks.push({ id, at: new Date(clock.wall()).toISOString(), ...what });
      if (marks.length > labLimits.labMarks) marks.shift();
      const [oldest] = sessions.keys();
      if (sessions.size > labLimits.labSessions && oldest !== undefined) sessions.delete(oldest);
    },
    after: (session, seen) => (sessions.get(session) ?? []).filter((mark) => mark.id > seen),
  };
}
