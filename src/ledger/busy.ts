/** A lock that was not given in time is told as what it is. */
import { LedgerlineError } from '../base/errors.ts';
import { sqlState } from '../db/postgres.ts';

/** A head that somebody holds for longer than the connection's lock timeout is busy, not broken. */
export async function busyWhenLocked<T>(work: PromiseLike<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (sqlState(error) !== '55P03') throw error;
    throw new LedgerlineError('session_busy', 'the session is locked by somebody else; nothing was changed', {}, error);
  }
}
