/** The three integers of the rail and what lies between them (pure). */

export interface Figures {
  /** Undefined: not known yet. */
  readonly head: number | undefined;
  /** Null: nobody follows the session in the gateway that answered. */
  readonly watermark: number | null | undefined;
  readonly cursor: number | undefined;
  /** How far the watermark is behind the head, and the cursor behind the watermark (or behind the head without one). */
  readonly watermarkBehind: number;
  readonly cursorBehind: number;
}

export interface Known {
  /** From the gateway, once a second. */
  readonly facts?: { readonly head: number; readonly room: { readonly watermark: number } | null } | undefined;
  /** Of the follower, in each frame. */
  readonly head: number;
  readonly cursor: number | undefined;
}

/**
 * The gateway's answer is up to a second old, the cursor is of this frame. What this browser has, the room had and the
 * ledger has: so neither is shown below it.
 */
export function toFigures({ facts, head, cursor }: Known): Figures {
  if (cursor === undefined) return { head: facts?.head, watermark: facts?.room?.watermark, cursor, ...level };
  const highest = Math.max(facts?.head ?? 0, head, cursor);
  if (facts === undefined)
    return { head: highest, watermark: undefined, cursor, ...level, cursorBehind: highest - cursor };
  if (facts.room === null) {
    return { head: highest, watermark: null, cursor, ...level, cursorBehind: highest - cursor };
  }
  const watermark = Math.max(facts.room.watermark, cursor);
  // A watermark that has passed the head was read after it.
  const known = Math.max(highest, watermark);
  return { head: known, watermark, cursor, watermarkBehind: known - watermark, cursorBehind: watermark - cursor };
}

const level = { watermarkBehind: 0, cursorBehind: 0 } as const;
