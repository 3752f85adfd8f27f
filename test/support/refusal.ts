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
  try {
    await call;
  } catch (error) {
    if (error instanceof LedgerlineError) return error;
    throw error;
  }
  throw new Error('it was not refused');
}
