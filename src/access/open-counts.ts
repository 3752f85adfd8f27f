/** How many streams each of many keys has open (pure). */

export class OpenCounts {
  readonly #most: number;
  readonly #counts = new Map<string, number>();

  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#counts.size;
  }

  isFull(key: string): boolean {
    return (this.#counts.get(key) ?? 0) >= this.#most;
  }

  add(key: string): void {
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }

  /** One that was added, once. */
  remove(key: string): void {
    const left = (this.#counts.get(key) ?? 0) - 1;
    if (left > 0) this.#counts.set(key, left);
    else this.#counts.delete(key);
  }
}
