/** One of the four books: what was in it when the process had died, and what is in it after the resume. */
import { useId } from 'react';
import type { ReactElement, ReactNode } from 'react';
import type { MarkedRow, RowMark } from './compare-books.ts';

export interface BookRow {
  readonly head: ReactNode;
  readonly detail: ReactNode;
}

interface BookViewProps<Row> {
  readonly book: string;
  readonly title: string;
  /** What it is, in a few words. */
  readonly about: string;
  /** Undefined: it has not come to that. */
  readonly before: readonly MarkedRow<Row>[] | undefined;
  readonly after: readonly MarkedRow<Row>[] | undefined;
  readonly afterWords: string;
  readonly show: (row: Row) => BookRow;
}

const markWords: Readonly<Record<RowMark, string>> = {
  new: 'new',
  changed: 'changed',
  twice: 'twice',
  stray: 'no refund',
};

export function BookView<Row>(props: BookViewProps<Row>): ReactElement {
  const { book, title, about, before, after, afterWords, show } = props;
  const id = useId();
  return (
    <section className="crash-book" aria-labelledby={id} data-book={book}>
      <header>
        <h3 id={id}>{title}</h3>
        <p className="hint">{about}</p>
      </header>
      <Rows moment="before" label="At the crash" rows={before} show={show} />
      <Rows moment="after" label={afterWords} rows={after} show={show} />
    </section>
  );
}

interface RowsProps<Row> {
  readonly moment: 'before' | 'after';
  readonly label: string;
  readonly rows: readonly MarkedRow<Row>[] | undefined;
  readonly show: (row: Row) => BookRow;
}

function Rows<Row>({ moment, label, rows, show }: RowsProps<Row>): ReactElement | null {
  if (rows === undefined) return null;
  return (
    <div className={`crash-rows is-${moment}`} data-moment={moment}>
      <h4 className="crash-moment">{label}</h4>
      {rows.length === 0 && <p className="hint">nothing</p>}
      <ul>
        {rows.map(({ id, row, mark }) => {
          const { head, detail } = show(row);
          return (
            <li key={id} className={mark === undefined ? undefined : `is-${mark}`} data-mark={mark}>
              <span className="crash-row-head">
                {head}
                {mark !== undefined && <span className="crash-mark">{markWords[mark]}</span>}
              </span>
              <span className="crash-row-detail">{detail}</span>
            </li>
          );
        })}
      </ul>
    </div>
  );
}
