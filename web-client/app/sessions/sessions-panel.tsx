/** The left side: the name, this browser's sessions, and what concerns the whole page. */
import type { ReactElement } from 'react';
import { Icon } from '../base/icon.tsx';
import { followingTheme } from '../base/theme.ts';
import type { Theme } from '../base/theme.ts';
import { Mark } from './mark.tsx';
import { OpenSession } from './open-session.tsx';
import { SessionRow } from './session-row.tsx';

interface SessionsPanelProps {
  readonly sessions: readonly string[];
  readonly selected: string | undefined;
  readonly theme: Theme;
  readonly select: (session: string) => void;
  readonly forget: (session: string) => void;
  readonly setTheme: (theme: Theme) => void;
  readonly showShortcuts: () => void;
  readonly signOut: () => void;
}

const themeWords = { system: 'Theme of the system', light: 'Light theme', dark: 'Dark theme' } as const;

export function SessionsPanel(props: SessionsPanelProps): ReactElement {
  const { sessions, selected, theme, select, forget, setTheme, showShortcuts, signOut } = props;
  return (
    <nav className="sessions-panel" aria-label="Sessions">
      <div className="brand">
        <Mark />
        Ledgerline
      </div>
      <OpenSession open={select} />
      <h2 className="section-title">Sessions</h2>
      <ul className="session-list">
        {sessions.map((session) => (
          <SessionRow
            key={session}
            session={session}
            isSelected={session === selected}
            select={select}
            forget={forget}
          />
        ))}
      </ul>
      {sessions.length === 0 && <p className="hint">Sessions that you open or make here are kept in this browser.</p>}
      <div className="panel-foot">
        <button
          type="button"
          className="button quiet"
          aria-label={`${themeWords[theme]}. Change it`}
          title={themeWords[theme]}
          onClick={() => setTheme(followingTheme(theme))}
        >
          <Icon name={theme} />
        </button>
        <button
          type="button"
          className="button quiet"
          aria-label="Keyboard shortcuts"
          title="Keyboard shortcuts"
          onClick={showShortcuts}
        >
          <Icon name="keyboard" />
        </button>
        <button type="button" className="button quiet last" title="Forgets the token of this browser" onClick={signOut}>
          <Icon name="leave" />
          Sign out
        </button>
      </div>
    </nav>
  );
}
