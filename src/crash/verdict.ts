/** Whether a refund and its entry are there once, by the books (pure). */
import type { Books, CrashVerdict } from '../lab/crash-lab.ts';

/** Of the two, the refund counts: what is wrong with it is told first. */
export function verdictOn({ refunds, entries }: Pick<Books, 'refunds' | 'entries'>): CrashVerdict {
  for (const [what, rows] of [
    ['refund', refunds],
    ['entry', entries],
  ] as const) {
    if (rows.length > 1) return { kind: 'doubled', what };
    if (rows.length === 0) return { kind: 'lost', what };
  }
  // An entry of another refund than the one that there is.
  return entries[0]?.refund === refunds[0]?.key ? { kind: 'once' } : { kind: 'lost', what: 'entry' };
}
