/** What `append` and `play` have in common: the check of a line, and the words for what went wrong. */
import { LedgerlineError, toError } from '../base/errors.ts';
import { checkDepth } from '../event/slice.ts';
import { ProducerError } from '../producer/producer-error.ts';

export const interrupted = () => new LedgerlineError('unavailable', 'interrupted before the end of the input');

/** Before it travels, since one bad event would take its whole batch along. */
export function checkPayload(number: number, text: string): void {
  try {
    JSON.parse(text);
    checkDepth(text);
  } catch (thrown) {
    throw new LedgerlineError('malformed', `line ${number} cannot be appended: ${toError(thrown).message}`, {
      line: number,
    });
  }
}

export function explained(thrown: unknown): unknown {
  if (!(thrown instanceof ProducerError)) return thrown;
  return new LedgerlineError('unavailable', `${thrown.message} (${thrown.code})`, {}, thrown);
}
