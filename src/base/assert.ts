/** What must be true: a failed assertion is a bug of ours, never a caller's mistake. */

export class AssertionFailed extends Error {
  override name = 'AssertionFailed';
}

/** Throws `AssertionFailed` when `condition` is false. For what may happen, throw the typed error instead. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new AssertionFailed(message);
}

/** Marks a branch that a closed union leaves impossible; the compiler proves it, this line guards against `any`. */
export function unreachable(value: never): never {
  throw new AssertionFailed(`unreachable: ${String(value)}`);
}
