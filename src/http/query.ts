/** What stands in a request's query: each name once, and a limit within its bounds. */
import { LedgerlineError } from '../base/errors.ts';
import type { AppContext } from './context.ts';

export function single(c: AppContext, name: string): string | undefined {
  const values = c.req.queries(name);
  if (values !== undefined && values.length > 1) {
    throw new LedgerlineError('malformed', `${name} is given more than once`, { where: name });
  }
  return values?.[0];
}

/** How many rows a page is to hold. */
export function readLimit(c: AppContext, absent: number, most: number): number {
  const text = single(c, 'limit');
  if (text === undefined) return absent;
  const limit = /^[1-9][0-9]{0,5}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= most) return limit;
  throw new LedgerlineError('malformed', `limit is a number from 1 to ${most}`, { where: 'limit' });
}
