/** What of the books is new since the process died, another than it was, there twice, or of nothing (pure). */
import type { Books, EntryRow, JournalRow, OutboxRow, RefundRow } from './crash-run.ts';

/** `twice`: another of the same order is above it. `stray`: an entry of a refund that there is not. */
export type RowMark = 'new' | 'changed' | 'twice' | 'stray';

export interface MarkedRow<Row> {
  /** Tells it from the others of its book. */
  readonly id: string;
  readonly row: Row;
  readonly mark?: RowMark;
}

export interface MarkedBooks {
  readonly refunds: readonly MarkedRow<RefundRow>[];
  readonly journal: readonly MarkedRow<JournalRow>[];
  readonly outbox: readonly MarkedRow<OutboxRow>[];
  readonly entries: readonly MarkedRow<EntryRow>[];
}

/** Without books of before, nothing is new: there is nothing to compare with. */
export function compareBooks(before: Books | undefined, books: Books): MarkedBooks {
  const keys = new Set(books.refunds.map(({ key }) => key));
  return {
    refunds: compare(before?.refunds, books.refunds, ({ key }) => key).map(repeated()),
    journal: compare(before?.journal, books.journal, ({ index }) => String(index)),
    outbox: compare(before?.outbox, books.outbox, ({ number }) => String(number)),
    entries: compare(before?.entries, books.entries, ({ refund, at }) => `${refund} ${at}`)
      .map(repeated())
      .map((marked) => (keys.has(marked.row.refund) ? marked : { ...marked, mark: 'stray' })),
  };
}

function compare<Row>(
  before: readonly Row[] | undefined,
  rows: readonly Row[],
  idOf: (row: Row) => string,
): readonly MarkedRow<Row>[] {
  const known = new Map(before?.map((row) => [idOf(row), JSON.stringify(row)]));
  return rows.map((row) => {
    const id = idOf(row);
    if (before === undefined || known.get(id) === JSON.stringify(row)) return { id, row };
    return { id, row, mark: known.has(id) ? 'changed' : 'new' };
  });
}

/** A run refunds an order once. */
function repeated<Row extends { readonly order: string }>(): (marked: MarkedRow<Row>) => MarkedRow<Row> {
  const orders = new Set<string>();
  return (marked) => {
    const isTwice = orders.has(marked.row.order);
    orders.add(marked.row.order);
    return isTwice ? { ...marked, mark: 'twice' } : marked;
  };
}
