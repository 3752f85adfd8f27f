/** The typed error that a call throws. */
import { LedgerlineError } from '../../src/base/errors.ts';

export function refusal(call: () => unknown): LedgerlineError {
  try {
    call();
  } catch (error) {
    if (error instanceof LedgerlineError) return error;
    throw error;
  }
  throw new Error('it was not refused');
}

/** The same of a promise. */
export async function refusalOf(call: Promise<unknown>): Promise<LedgerlineError> {
  const outcome = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  return refusal(() => {
    if (outcome !== undefined) throw outcome;
  });
}
