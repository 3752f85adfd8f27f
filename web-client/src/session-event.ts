/** What a session holds, as a browser gets it. */

/** One event of a session. Sequences are contiguous from 1; ignore members that are not listed here. */
export interface SessionEvent {
  readonly sequence: number;
  readonly type: string;
  /** By the database's clock: UTC with milliseconds, `2026-11-30T04:00:00.000Z`. */
  readonly at: string;
  /** The turn and the attempt at it that appended the event, where there is one. */
  readonly turn?: string;
  readonly attempt?: number;
  /** Any JSON. Parsed, so a number beyond 2^53 has lost digits. */
  readonly data: unknown;
}

/** Somebody else's JSON is not trusted to be an event. */
export function isEvent(value: unknown): value is SessionEvent {
  if (typeof value !== 'object' || value === null) return false;
  const { sequence, type, at } = value as Partial<Record<keyof SessionEvent, unknown>>;
  return (
    Number.isSafeInteger(sequence) && (sequence as number) > 0 && typeof type === 'string' && typeof at === 'string'
  );
}
