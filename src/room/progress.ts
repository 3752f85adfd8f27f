/** Whether a socket's unsent bytes move at all: a peer that vanished without a word takes nothing and says nothing. */
import { limits } from '../base/limits.ts';
import type { Writer } from '../sse/writer.ts';

export class Progress {
  #movedTo = 0;
  #movedAtMs: number;

  constructor(nowMs: number) {
    this.#movedAtMs = nowMs;
  }

  /** True once what is unsent has not moved for `limits.stallMs`. */
  hasStalled({ unsentBytes, sentBytes }: Pick<Writer, 'unsentBytes' | 'sentBytes'>, nowMs: number): boolean {
    if (unsentBytes > 0 && sentBytes === this.#movedTo) return nowMs - this.#movedAtMs >= limits.stallMs;
    this.#movedTo = sentBytes;
    this.#movedAtMs = nowMs;
    return false;
  }
}
