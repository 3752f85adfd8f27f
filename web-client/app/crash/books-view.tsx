/** The four books of a run side by side, before and after, with what is new or there twice. */
import type { ReactElement } from 'react';
import { formatClockTime, formatFullTime, formatInteger, shortId } from '../base/format.ts';
import { BookView } from './book-view.tsx';
import type { BookRow } from './book-view.tsx';
import { compareBooks } from './compare-books.ts';
import type { MarkedBooks } from './compare-books.ts';
import type { CrashRun, EntryRow, JournalRow, OutboxRow, RefundRow } from './crash-run.ts';
import { toAfterWords } from './run-words.ts';

export function BooksView({ run }: { readonly run: CrashRun }): ReactElement {
  const before = run.before && compareBooks(undefined, run.before);
  const after = run.after && compareBooks(run.before, run.after);
  const moments = <Book extends keyof MarkedBooks>(book: Book) => ({
    book,
    before: before?.[book],
    after: after?.[book],
    afterWords: toAfterWords(run),
  });
  return (
    <div className="crash-books">
      <BookView title="Refunds" about="the shop’s own table" {...moments('refunds')} show={showRefund} />
      <BookView title="Journal" about="the steps of the turn" {...moments('journal')} show={showStep} />
      <BookView title="Outbox" about="what others are to be told" {...moments('outbox')} show={showDelivery} />
      <BookView title="Entries" about="what the bookkeeping has" {...moments('entries')} show={showEntry} />
    </div>
  );
}

const showRefund = ({ key, order, cents, at }: RefundRow): BookRow => ({
  head: <Money cents={cents} order={order} />,
  detail: (
    <>
      <Key of={key} /> <At at={at} />
    </>
  ),
});

const showStep = ({ index, kind, tool, effect, state, attempt }: JournalRow): BookRow => ({
  head: (
    <>
      <span className="crash-number">{index}</span>
      <code>{tool ?? kind}</code>
    </>
  ),
  detail: [effect, state.replaceAll('_', ' '), `attempt ${formatInteger(attempt)}`]
    .filter((part) => part !== undefined)
    .join(', '),
});

const showDelivery = ({ number, topic, state, step }: OutboxRow): BookRow => ({
  head: (
    <>
      <span className="crash-number">{number}</span>
      <code>{topic}</code>
    </>
  ),
  detail: `${state}, of step ${formatInteger(step)}`,
});

const showEntry = ({ refund, order, cents, at }: EntryRow): BookRow => ({
  head: <Money cents={cents} order={order} />,
  detail: (
    <>
      of <Key of={refund} /> <At at={at} />
    </>
  ),
});

const Money = ({ cents, order }: { readonly cents: number; readonly order: string }): ReactElement => (
  <span>
    <strong>{formatInteger(cents)} ct</strong> of order {order}
  </span>
);

/** `v1:0b6c1234:2`: a turn is told from the others by its first part. */
const Key = ({ of }: { readonly of: string }): ReactElement => (
  <code title={of}>{of.split(':').map(shortId).join(':')}</code>
);

const At = ({ at }: { readonly at: string }): ReactElement => (
  <time dateTime={at} title={formatFullTime(at)}>
    {formatClockTime(at)}
  </time>
);
