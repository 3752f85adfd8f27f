/** What both append statements answer, and send as a notice before they commit: which append got which numbers (pure). */
import { assert } from '../base/assert.ts';
import { plus, toCursor, toSequence } from '../event/sequence.ts';
import type { AppendRequest, Outcome } from './ledger.ts';

/** `skipped`: the head was held by somebody else, nothing was decided, the append goes again. */
export type Verdict = Outcome | { readonly kind: 'skipped' };

export interface Receipt {
  /** Of the transaction, for `pg_xact_status`; null when it wrote nothing at all. */
  readonly transaction: string | null;
  /** `created_at` of everything it stored. */
  readonly at: string;
  /** For each append the sequence of its first event; null when it was refused. */
  readonly firsts: readonly (number | null)[];
  readonly refused: readonly Refusal[];
}

type Refusal = { readonly append: number } & (
  | { readonly code: 'duplicate' | 'conflict'; readonly first: number; readonly last: number }
  | { readonly code: 'overlap'; readonly counter: number }
  | { readonly code: 'wrong_head'; readonly head: number }
  | { readonly code: 'closed' | 'deleted' | 'unknown_session' | 'fenced' | 'skipped' }
);

/** A notice that is a receipt; a trigger of the database's owner may raise others. */
export const isReceipt = (message: string): boolean => message.startsWith('{"transaction" : ');

export const parseReceipt = (text: string): Receipt => JSON.parse(text) as Receipt;

/** One verdict for each append of the stamp, in order. */
export function verdicts(receipt: Receipt, requests: readonly AppendRequest[]): Verdict[] {
  assert(receipt.firsts.length === requests.length, 'a receipt speaks of every append');
  const all: (Verdict | undefined)[] = receipt.firsts.map((first, index) =>
    first === null ? undefined : appended(first, requests[index], receipt),
  );
  for (const refusal of receipt.refused) all[refusal.append] = refusedAs(refusal);
  return all.map((verdict) => {
    assert(verdict !== undefined, 'an append was stored or refused');
    return verdict;
  });
}

/** The same for the plain statement, which stored all appends of one session in a row: only the first has a number. */
export function verdictsInARow(receipt: Receipt, requests: readonly AppendRequest[]): Verdict[] {
  let next = receipt.firsts[0] ?? 0;
  return requests.map((request) => {
    const first = next;
    next += request.events.length;
    return appended(first, request, receipt);
  });
}

function appended(first: number, request: AppendRequest | undefined, { at, transaction }: Receipt): Verdict {
  assert(request !== undefined, 'a receipt speaks of appends that were sent');
  const sequence = toSequence(first);
  const last = plus(sequence, request.events.length - 1);
  return { kind: 'appended', first: sequence, last, at, transaction: transaction ?? undefined };
}

function refusedAs(refusal: Refusal): Verdict {
  switch (refusal.code) {
    case 'duplicate':
    case 'conflict':
      return { kind: refusal.code, first: toSequence(refusal.first), last: toSequence(refusal.last) };
    case 'overlap':
      return { kind: 'overlap', counter: refusal.counter };
    case 'wrong_head':
      return { kind: 'wrong_head', head: toCursor(refusal.head) };
    case 'closed':
    case 'deleted':
    case 'unknown_session':
    case 'fenced':
    case 'skipped':
      return { kind: refusal.code };
  }
}
