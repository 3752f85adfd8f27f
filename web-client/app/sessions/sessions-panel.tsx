/** The left side: the name, the sessions, the other views, and what concerns the whole page. */
import { useState } from 'react';
import type { ReactElement, ReactNode } from 'react';
import { MOST_TURNS } from '../attention/turn-list.ts';
import type { View } from '../base/address.ts';
import { formatInteger } from '../base/format.ts';
import { Icon } from '../base/icon.tsx';
import type { IconName } from '../base/icon.tsx';
import { PageLink } from '../base/page-link.tsx';
import { followingTheme } from '../base/theme.ts';
import type { Theme } from '../base/theme.ts';
import { hasLab } from '../lab/lab-client.ts';
import { Mark } from './mark.tsx';
import { OpenSession } from './open-session.tsx';
import { SessionsList } from './sessions-list.tsx';
import type { UsedSessions } from './use-sessions.ts';

interface SessionsPanelProps {
  readonly used: UsedSessions;
  readonly failed: ReadonlySet<string>;
  /** How many turns need a person; undefined for who may do nothing about them. */
  readonly attention: number | undefined;
  readonly view: View | undefined;
  readonly selected: string | undefined;
  readonly theme: Theme;
  readonly select: (session: string) => void;
  readonly showView: (view: View) => void;
  readonly setTheme: (theme: Theme) => void;
  readonly showShortcuts: () => void;
  readonly signOut: () => void;
}

const themeWords = { system: 'Theme of the system', light: 'Light theme', dark: 'Dark theme' } as const;

export function SessionsPanel(props: SessionsPanelProps): ReactElement {
  const { used, failed, attention, view, selected, theme } = props;
  const { select, showView, setTheme, showShortcuts, signOut } = props;
  const [words, setWords] = useState('');
  return (
    <nav className="sessions-panel" aria-label="Sessions">
      <div className="brand">
        <Mark />
        Ledgerline
      </div>
      <OpenSession words={words} setWords={setWords} open={select} />
      {attention !== undefined && (
        <ViewLink to="turns" icon="alert" shown={view} show={showView}>
          Needs attention
          {attention > 0 && <span className="badge">{toCountWords(attention)}</span>}
        </ViewLink>
      )}
      {hasLab() && (
        <ViewLink to="crash" icon="crash" shown={view} show={showView}>
          Crash lab
        </ViewLink>
      )}
      <h2 className="section-title">Sessions</h2>
      <SessionsList used={used} failed={failed} words={words} selected={selected} select={select} />
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

interface ViewLinkProps {
  readonly to: View;
  readonly icon: IconName;
  readonly shown: View | undefined;
  readonly show: (view: View) => void;
  readonly children: ReactNode;
}

const ViewLink = ({ to, icon, shown, show, children }: ViewLinkProps): ReactElement => (
  <PageLink
    className={to === shown ? 'view-link is-selected' : 'view-link'}
    to={{ view: to }}
    go={() => show(to)}
    aria-current={to === shown ? 'page' : undefined}
  >
    <Icon name={icon} />
    {children}
  </PageLink>
);

/** There may be more than the server lists at once. */
const toCountWords = (count: number): string => `${formatInteger(count)}${count < MOST_TURNS ? '' : '+'}`;
