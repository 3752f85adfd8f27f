/** One row of the conversation: its sequence in the margin, as in a ledger, and what it holds beside it. */
import { memo } from 'react';
import type { ReactElement } from 'react';
import { formatClockTime, formatFullTime, formatInteger, formatRange } from '../base/format.ts';
import { PageLink } from '../base/page-link.tsx';
import { AbandonedItem } from './abandoned-item.tsx';
import { ApprovalItem } from './approval-item.tsx';
import { MessageItem } from './message-item.tsx';
import { OtherItem } from './other-item.tsx';
import { useReading } from './reading.ts';
import { ReasoningItem } from './reasoning-item.tsx';
import type { Row } from './rows.ts';
import { ToolItem } from './tool-item.tsx';
import { TurnRule } from './turn-rule.tsx';

export const RowView = memo(function RowView({ row }: { readonly row: Row }): ReactElement {
  const { session, pointAt } = useReading();
  const range = formatRange(row.first, row.last);
  return (
    <>
      <div className="margin">
        <PageLink
          className="sequence"
          to={{ session, at: row.first }}
          go={() => pointAt(row.first)}
          aria-label={`Sequence ${range}`}
        >
          {formatInteger(row.first)}
        </PageLink>
        {'at' in row && (
          <time dateTime={row.at} title={formatFullTime(row.at)}>
            {formatClockTime(row.at).slice(0, 8)}
          </time>
        )}
      </div>
      <div className="content">
        <RowContent row={row} />
      </div>
    </>
  );
});

function RowContent({ row }: { readonly row: Row }): ReactElement {
  switch (row.kind) {
    case 'message':
      return <MessageItem item={row} />;
    case 'reasoning':
      return <ReasoningItem item={row} />;
    case 'tool':
      return <ToolItem item={row} />;
    case 'approval':
      return <ApprovalItem item={row} />;
    case 'turn':
      return <TurnRule item={row} isEnd={false} />;
    case 'turn_end':
      return <TurnRule item={row.item} isEnd />;
    case 'abandoned':
      return <AbandonedItem row={row} />;
    case 'other':
      return <OtherItem item={row} />;
  }
}
