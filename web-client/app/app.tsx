/** The page: who reads, which session, and the three parts side by side. */
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { ReactElement } from 'react';
import { SignIn } from './access/sign-in.tsx';
import { forgetToken, keepToken, onTokenInAddress, readToken } from './access/token.ts';
import { isSessionId } from './base/address.ts';
import { onStoredElsewhere } from './base/stored.ts';
import { ShortcutsDialog } from './base/shortcuts-dialog.tsx';
import { followingTheme, keepTheme, readTheme, showTheme } from './base/theme.ts';
import { useAddress } from './base/use-address.ts';
import { useShortcuts } from './base/use-shortcuts.ts';
import { SessionPage } from './conversation/session-page.tsx';
import type { SessionKeys } from './conversation/session-page.tsx';
import { NotAnId, NothingOpen } from './conversation/state-panel.tsx';
import { TopBar } from './conversation/top-bar.tsx';
import { PanelTabs } from './panel-tabs.tsx';
import type { Panel } from './panel-tabs.tsx';
import { SessionsPanel } from './sessions/sessions-panel.tsx';
import { useSessions } from './sessions/use-sessions.ts';

/** `generation` makes the same session start again. */
interface Access {
  readonly isSignedIn: boolean;
  readonly reason?: string;
  readonly generation: number;
}

const isKnown = (): boolean => readToken() !== undefined;
const begin = ({ generation }: Access): Access => ({ isSignedIn: isKnown(), generation: generation + 1 });

export function App(): ReactElement {
  const [access, setAccess] = useState<Access>(() => ({ isSignedIn: isKnown(), generation: 0 }));
  const refuse = useCallback(
    (reason: string) => setAccess(({ generation }) => ({ isSignedIn: false, reason, generation: generation + 1 })),
    [],
  );
  const restart = useCallback(() => setAccess(begin), []);
  // Another tab signed in or out: so did this one. A token that was renewed meanwhile is asked for when it is needed.
  useEffect(
    () =>
      onStoredElsewhere('token', () =>
        setAccess((before) => (before.isSignedIn === isKnown() ? before : begin(before))),
      ),
    [],
  );
  useEffect(() => onTokenInAddress(restart), [restart]);
  const signIn = (token: string): void => {
    keepToken(token);
    restart();
  };
  const signOut = useCallback(() => {
    forgetToken();
    restart();
  }, [restart]);

  if (!access.isSignedIn) return <SignIn reason={access.reason} signIn={signIn} />;
  return <Page generation={access.generation} restart={restart} refuse={refuse} signOut={signOut} />;
}

interface PageProps {
  readonly generation: number;
  readonly restart: () => void;
  readonly refuse: (reason: string) => void;
  readonly signOut: () => void;
}

function Page({ generation, restart, refuse, signOut }: PageProps): ReactElement {
  const address = useAddress();
  const { sessions, add, forget } = useSessions();
  const [theme, setTheme] = useState(readTheme);
  const [panel, setPanel] = useState<Panel>('conversation');
  const [areShortcutsShown, setAreShortcutsShown] = useState(false);
  const { session } = address.address;
  const isUsable = session !== undefined && isSessionId(session);
  const keys = useSessionKeys();

  useEffect(() => {
    if (isUsable) add(session);
    document.title = session === undefined ? 'Ledgerline' : `${session} – Ledgerline`;
  }, [add, isUsable, session]);
  useEffect(() => showTheme(theme), [theme]);
  const changeTheme = useCallback((next: typeof theme) => {
    keepTheme(next);
    setTheme(next);
  }, []);

  const { push } = address;
  const select = useCallback(
    (chosen: string) => {
      push({ session: chosen });
      setPanel('conversation');
    },
    [push],
  );
  const forgetOne = useCallback(
    (chosen: string) => {
      forget(chosen);
      if (chosen === session) push({});
    },
    [forget, push, session],
  );
  useShortcuts({
    '/': () => keys.search.current?.focus(),
    g: () => keys.jump.current?.focus(),
    e: () => keys.latest.current?.(),
    t: () => changeTheme(followingTheme(theme)),
    '?': () => setAreShortcutsShown(true),
  });
  const showShortcuts = useCallback(() => setAreShortcutsShown(true), []);
  const hideShortcuts = useCallback(() => setAreShortcutsShown(false), []);

  return (
    <div className="page" data-panel={panel}>
      <a className="skip-link" href="#main">
        Skip to the conversation
      </a>
      <SessionsPanel
        sessions={sessions}
        selected={session}
        theme={theme}
        select={select}
        forget={forgetOne}
        setTheme={changeTheme}
        showShortcuts={showShortcuts}
        signOut={signOut}
      />
      {isUsable ? (
        <SessionPage
          key={`${session} ${generation}`}
          session={session}
          address={address}
          keys={keys}
          restart={restart}
          forget={() => forgetOne(session)}
          refuse={refuse}
        />
      ) : (
        <main className="middle is-alone" id="main" tabIndex={-1}>
          <TopBar session={undefined} />
          {session === undefined ? <NothingOpen /> : <NotAnId session={session} />}
        </main>
      )}
      <PanelTabs panel={panel} show={setPanel} />
      <ShortcutsDialog isOpen={areShortcutsShown} close={hideShortcuts} />
    </div>
  );
}

function useSessionKeys(): SessionKeys {
  const search = useRef<HTMLInputElement>(null);
  const jump = useRef<HTMLInputElement>(null);
  const latest = useRef<() => void>(undefined);
  return useMemo(() => ({ search, jump, latest }), []);
}
