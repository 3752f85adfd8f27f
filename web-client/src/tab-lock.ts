/** The one lock that makes a follower the leader: waited for in line, or taken from whoever is frozen with it. */

export interface TabLocks {
  request(
    name: string,
    options: { readonly signal: AbortSignal } | { readonly steal: true },
    hold: () => Promise<void>,
  ): Promise<unknown>;
}

export interface LockTurn {
  readonly locks: TabLocks;
  readonly name: string;
  /** Take it from its holder. */
  readonly isTheft: boolean;
  /** Leaves the line. What is held already is held until `hold` resolves. */
  readonly signal: AbortSignal;
  /** `lost` aborts when another one has taken the lock. Never rejects. */
  readonly hold: (lost: AbortSignal) => Promise<void>;
}

/**
 * Resolves when this turn is over: held and given back, lost, or left before it came. False when locks are refused
 * here, as in a frame whose storage is blocked.
 */
export async function takeTurn({ locks, name, isTheft, signal, hold }: LockTurn): Promise<boolean> {
  const lost = new AbortController();
  let holding: Promise<void> | undefined;
  try {
    // a request cannot have both
    await locks.request(name, isTheft ? { steal: true } : { signal }, () => (holding = hold(lost.signal)));
    return true;
  } catch (error) {
    lost.abort();
    await holding;
    return error instanceof DOMException && error.name === 'AbortError';
  }
}
