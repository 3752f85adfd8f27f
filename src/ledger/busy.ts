/** A lock that was not given in time is told as what it is. */
import { LedgerlineError } from '../base/errors.ts';
import { sqlState } from '../db/postgres.ts';

/** Not given within the connection's lock timeout, or given to somebody else because two waited for one another. */
const notGiven: readonly (string | undefined)[] = ['55P03', '40P01'];

/** A head that somebody holds for too long is busy, not broken. */
export async function busyWhenLocked<T>(work: PromiseLike<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!notGiven.includes(sqlState(error))) throw error;
    throw new LedgerlineError('session_busy', 'the session is locked by somebody else; nothing was changed', {}, error);
  }
}
