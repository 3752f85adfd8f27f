/** Who follows what, for the peers that have no such book of their own. */

export class Followers<T> {
  readonly #bySession = new Map<string, Set<T>>();

  add(session: string, follower: T): () => void {
    const set = this.#bySession.get(session) ?? new Set<T>();
    this.#bySession.set(session, set.add(follower));
    return () => set.delete(follower);
  }

  of(session: string): Iterable<T> {
    return this.#bySession.get(session) ?? [];
  }
}

/** The session in `/sessions/NAME/stream`, or wherever else a path has it second. */
export const sessionIn = (path: string): string => path.split('/')[2]?.split('?')[0] ?? '';
