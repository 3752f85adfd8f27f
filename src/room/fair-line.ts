/** A line in which one session's items come one by one, between those of others [I9]. */
export class FairLine<T> {
  readonly #bySession = new Map<string, T[]>();

  get isEmpty(): boolean {
    return this.#bySession.size === 0;
  }

  add(session: string, item: T): void {
    const items = this.#bySession.get(session);
    if (items === undefined) this.#bySession.set(session, [item]);
    else items.push(item);
  }

  /** The session that has waited longest gives one item and goes to the end. */
  take(): T | undefined {
    for (const [session, items] of this.#bySession) {
      this.#bySession.delete(session);
      const item = items.shift();
      if (items.length > 0) this.#bySession.set(session, items);
      if (item !== undefined) return item;
    }
    return undefined;
  }

  clear(): void {
    this.#bySession.clear();
  }
}
