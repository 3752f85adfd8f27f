/** The bar above the conversation: which session, finding in it, and the follower's state. */
import type { ReactElement, ReactNode } from 'react';

interface TopBarProps {
  readonly session: string | undefined;
  /** Where there is no session. */
  readonly title?: string;
  /** Beside the name: closed, deleted. */
  readonly state?: string | undefined;
  readonly children?: ReactNode;
}

export const TopBar = ({ session, title = 'Ledgerline', state, children }: TopBarProps): ReactElement => (
  <header className="top-bar">
    <h1 className="session-name" title={session}>
      {session ?? title}
    </h1>
    {state !== undefined && <span className="session-state">{state}</span>}
    {children}
  </header>
);
