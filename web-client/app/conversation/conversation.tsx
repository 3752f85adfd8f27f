/** The session as a conversation: only the rows in sight are there, the end is kept while the reader is at the end. */
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import type { ReactElement, ReactNode } from 'react';
import { useVirtualizer } from '@tanstack/react-virtual';
import type { SessionSnapshot, SessionView } from '../../src/session-view.ts';
import { hasScope, tokenOrNothing } from '../access/token.ts';
import type { Target } from '../search/use-jump.ts';
import { resolveIn } from '../work/resolve-step.ts';
import { estimateHeight } from './estimate-height.ts';
import { JumpToLatest } from './jump-to-latest.tsx';
import { OlderRows } from './older-rows.tsx';
import { ReadingProvider } from './reading.ts';
import type { Reading } from './reading.ts';
import { nameRow } from './row-name.ts';
import { RowView } from './row-view.tsx';
import { findAttempt, findRow, toRows } from './rows.ts';
import { useFocusedRow } from './use-focused-row.ts';
import { useOlder } from './use-older.ts';
import { useReadPosition } from './use-read-position.ts';
import { useRowKeys } from './use-row-keys.ts';
import { useStayAtEnd, useStick } from './use-stick.ts';
import type { Rows } from './use-stick.ts';

interface ConversationProps {
  readonly session: string;
  readonly view: SessionView;
  readonly snapshot: SessionSnapshot;
  readonly pattern: RegExp | undefined;
  /** The item that the search points at. */
  readonly match: string | undefined;
  readonly target: Target | undefined;
  readonly isOver: boolean;
  /** Below the last row. */
  readonly foot: ReactNode;
  /** Goes to the end. */
  readonly latest: { current: (() => void) | undefined };
  readonly pointAt: (sequence: number) => void;
  /** The reader went back to the end by the button or the key. */
  readonly leavePlace: () => void;
  /** Something happened that a list of sessions shows. */
  readonly changed: () => void;
}

const TOP_PIXELS = 56;

export function Conversation(props: ConversationProps): ReactElement {
  const { session, view, snapshot, pattern, match, target, isOver, foot, latest, pointAt, leavePlace, changed } = props;
  const { items } = snapshot.timeline;
  const { outgoing } = snapshot;
  const scroller = useRef<HTMLDivElement>(null);
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const [pointed, setPointed] = useState<{ readonly key: string; readonly nonce: number }>();
  const rows = useMemo(() => toRows(items, opened), [items, opened]);

  const list = useRef<Rows>(undefined);
  const { isAtEnd, stuck, scrollToFn, onScroll, stick } = useStick(list);
  const { getItemKey, shouldAdjust } = useRowKeys(rows);
  const { rangeExtractor, onFocus, onBlur } = useFocusedRow(rows, getItemKey);
  // oxlint-disable-next-line react/incompatible-library -- no React Compiler builds this page
  const virtualizer = useVirtualizer<HTMLDivElement, HTMLElement>({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => estimateHeight(rows[index], scroller.current?.clientWidth ?? 700),
    getItemKey,
    rangeExtractor,
    scrollToFn,
    anchorTo: 'end',
    followOnAppend: true,
    scrollEndThreshold: 1,
    overscan: 6,
    paddingStart: TOP_PIXELS,
    scrollPaddingStart: TOP_PIXELS,
  });
  useLayoutEffect(() => {
    list.current = virtualizer;
    virtualizer.shouldAdjustScrollPositionOnItemSizeChange = shouldAdjust;
  }, [virtualizer, shouldAdjust]);
  useStayAtEnd(virtualizer, stuck, outgoing.length);
  const visible = virtualizer.getVirtualItems();
  useEffect(() => view.setAtEnd(isAtEnd), [view, isAtEnd]);
  useReadPosition(session, snapshot, isAtEnd, changed);

  const giveFocus = useCallback(() => scroller.current?.focus({ preventScroll: true }), []);
  const toEnd = useCallback(() => {
    stick(true);
    virtualizer.scrollToEnd();
    giveFocus();
    leavePlace();
  }, [virtualizer, stick, giveFocus, leavePlace]);
  useEffect(() => {
    latest.current = toEnd;
    return () => {
      latest.current = undefined;
    };
  }, [latest, toEnd]);

  /** Whoever sends a message wants to see it, wherever they read. */
  const newest = useRef(outgoing.at(-1)?.key);
  useEffect(() => {
    const key = outgoing.at(-1)?.key;
    if (key === newest.current) return;
    newest.current = key;
    if (key === undefined) return;
    stick(true);
    virtualizer.scrollToEnd();
  }, [outgoing, stick, virtualizer]);

  const older = useOlder(view, snapshot, {
    isNearTop: (virtualizer.range?.startIndex ?? 0) < 12,
    isAtEnd,
    isShort: virtualizer.getTotalSize() < (scroller.current?.clientHeight ?? 0) * 1.2,
  });

  /** The rows as they are when it comes to scrolling, which is after they were rendered. */
  const known = useRef({ rows, items });
  useLayoutEffect(() => {
    known.current = { rows, items };
  });
  const show = useCallback(
    (index: number) => {
      const row = known.current.rows[index];
      if (row === undefined) return;
      stick(false);
      virtualizer.scrollToIndex(index, { align: 'start' });
      setPointed((before) => ({ key: row.key, nonce: (before?.nonce ?? 0) + 1 }));
    },
    [virtualizer, stick],
  );
  useEffect(() => {
    if (target !== undefined) show(findRow(known.current.rows, target.sequence));
  }, [target, show]);
  /** Once it was shown, the reader may close the fold it lies in and go elsewhere. */
  const shownMatch = useRef<string>(undefined);
  useEffect(() => {
    if (match === shownMatch.current) return;
    const fold = match === undefined ? undefined : findAttempt(known.current.items, match);
    if (fold !== undefined && !opened.has(fold)) {
      setOpened((keys) => new Set(keys).add(fold));
      return;
    }
    shownMatch.current = match;
    if (match !== undefined) show(known.current.rows.findIndex(({ key }) => key === match));
  }, [match, opened, show]);

  const toggleAttempt = useCallback((key: string) => {
    setOpened((keys) => {
      const next = new Set(keys);
      if (!next.delete(key)) next.add(key);
      return next;
    });
  }, []);
  const maySend = hasScope(tokenOrNothing(), 'send');
  const mayWrite = hasScope(tokenOrNothing(), 'write');
  const decide = useMemo<Reading['decide']>(
    () => (maySend ? (approval, decision, comment) => view.decide(approval, decision, comment) : undefined),
    [view, maySend],
  );
  const resolve = useMemo<Reading['resolve']>(() => (mayWrite ? resolveIn(session) : undefined), [session, mayWrite]);
  const reading = useMemo<Reading>(
    () => ({ session, pattern, isOver, pointAt, toggleAttempt, decide, resolve }),
    [session, pattern, isOver, pointAt, toggleAttempt, decide, resolve],
  );

  return (
    <ReadingProvider value={reading}>
      <div className="conversation" id="conversation">
        <div
          ref={scroller}
          className="scroller"
          role="feed"
          aria-label={`Session ${session}`}
          aria-busy={snapshot.isLoadingOlder}
          // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- else nobody without a pointer could scroll it
          tabIndex={0}
          onScroll={onScroll}
        >
          <div
            className="rows"
            role="presentation"
            style={{ height: virtualizer.getTotalSize() }}
            onFocus={onFocus}
            onBlur={onBlur}
          >
            <OlderRows older={older} hasOlder={snapshot.hasOlder} floor={snapshot.floor} />
            {visible.map(({ index, key, start }) => {
              const row = rows[index];
              if (row === undefined) return undefined;
              const isPointed = pointed?.key === row.key;
              return (
                <article
                  key={key}
                  ref={virtualizer.measureElement}
                  data-index={index}
                  data-kind={row.kind}
                  data-first={row.first}
                  data-last={row.last}
                  className={row.kind === 'turn' || row.kind === 'turn_end' ? 'row is-rule' : 'row'}
                  aria-label={nameRow(row)}
                  aria-posinset={index + 1}
                  aria-setsize={snapshot.hasOlder ? -1 : rows.length}
                  style={{ transform: `translateY(${start}px)` }}
                >
                  {isPointed && <div key={pointed.nonce} className="flash" />}
                  <RowView row={row} />
                </article>
              );
            })}
          </div>
          {foot}
        </div>
        {!isAtEnd && <JumpToLatest head={snapshot.head} toEnd={toEnd} giveFocus={giveFocus} />}
      </div>
    </ReadingProvider>
  );
}
