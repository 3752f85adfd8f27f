/** What a session's agent does now, out of the columns of its head. */
import type { StopMode, TurnNow, TurnState } from '../event/turn-state.ts';

/** `h.turn_state, h.turn_id, h.fence, h.stop_mode`. */
export interface TurnColumns {
  readonly turn_state: TurnState;
  readonly turn_id: string | null;
  readonly fence: number;
  readonly stop_mode: StopMode | null;
}

export const toTurnNow = (row: TurnColumns): TurnNow => ({
  state: row.turn_state,
  turn: row.turn_id ?? undefined,
  attempt: row.turn_id === null ? undefined : row.fence,
  stop: row.stop_mode ?? undefined,
});
