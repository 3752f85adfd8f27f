/** Remembers, within a bound, who was told by 204 that a session has nothing more to say. */

export interface EndedReaders {
  /**
   * True for a reader that was told before and came back all the same. It is forgotten then, so that one that did stop
   * and merely opens the session again is told by 204 the next time.
   */
  cameBack(reader: string): boolean;
}

export function createEndedReaders(capacity: number): EndedReaders {
  const told = new Set<string>();
  return {
    cameBack(reader) {
      if (told.delete(reader)) return true;
      told.add(reader);
      if (told.size > capacity) {
        const oldest = told.values().next();
        if (oldest.done !== true) told.delete(oldest.value);
      }
      return false;
    },
  };
}
