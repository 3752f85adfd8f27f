/** One session of the list: its id, its state and its head, asked for gently while it can be seen. */
import { memo, useEffect, useMemo, useRef, useState } from 'react';
import type { ReactElement } from 'react';
import { createSessionServer } from '../../src/session-server.ts';
import type { SessionFacts } from '../../src/session-server.ts';
import { tokenOrNothing } from '../access/token.ts';
import { writeAddress } from '../base/address.ts';
import { formatInteger } from '../base/format.ts';
import { Icon } from '../base/icon.tsx';
import { usePoll } from '../base/use-poll.ts';
import type { Polled } from '../base/use-poll.ts';

const POLL_MS = 5_000;

interface SessionRowProps {
  readonly session: string;
  readonly isSelected: boolean;
  readonly select: (session: string) => void;
  readonly forget: (session: string) => void;
}

export const SessionRow = memo(function SessionRow({
  session,
  isSelected,
  select,
  forget,
}: SessionRowProps): ReactElement {
  const row = useRef<HTMLLIElement>(null);
  const isVisible = useIsVisible(row);
  const ask = useMemo(() => {
    if (!isVisible) return undefined;
    const server = createSessionServer({ url: '', session, token: tokenOrNothing });
    return (signal: AbortSignal) => server.describe(signal);
  }, [session, isVisible]);
  const facts = usePoll(ask, POLL_MS);
  return (
    <li ref={row} className={isSelected ? 'session-row is-selected' : 'session-row'}>
      <a
        href={writeAddress({ session })}
        aria-current={isSelected ? 'page' : undefined}
        onClick={(event) => {
          if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
          event.preventDefault();
          select(session);
        }}
      >
        <span className="session-id">{session}</span>
        <span className="session-facts">{toFactWords(facts)}</span>
      </a>
      <button
        type="button"
        className="button icon-only forget"
        aria-label={`Forget ${session}`}
        title="Forget: takes it off this list, not off the server"
        onClick={() => forget(session)}
      >
        <Icon name="close" />
      </button>
    </li>
  );
});

function toFactWords({ value, error }: Polled<SessionFacts>): string {
  if (error?.problem === 'session_unknown') return 'unknown';
  if (error?.problem === 'session_deleted' || value?.state === 'deleted') return 'deleted';
  if (error !== undefined) return 'out of reach';
  if (value === undefined) return '…';
  return `${value.state}, head ${formatInteger(value.head)}`;
}

function useIsVisible(element: { readonly current: Element | null }): boolean {
  const [isVisible, setIsVisible] = useState(false);
  useEffect(() => {
    const { current } = element;
    if (current === null) return undefined;
    const observer = new IntersectionObserver((entries) => setIsVisible(entries.at(-1)?.isIntersecting ?? false));
    observer.observe(current);
    return () => observer.disconnect();
  }, [element]);
  return isVisible;
}
