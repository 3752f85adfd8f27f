/** What must be true: a failed assertion is a bug of ours, never a caller's mistake. */

export class AssertionFailed extends Error {
  override name = 'AssertionFailed';
}

/** Throws `AssertionFailed` when `condition` is false. For what may happen, throw the typed error instead. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new AssertionFailed(message);
}
