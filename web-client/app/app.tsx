/** The page: who reads, which session, and the three parts side by side. */
import { useCallback, useEffect, useState } from 'react';
import type { ReactElement } from 'react';
import { SignIn } from './access/sign-in.tsx';
import { forgetToken, keepToken, onTokenInAddress, readToken, subjectOf } from './access/token.ts';
import { AttentionPage } from './attention/attention-page.tsx';
import { CrashPage } from './crash/crash-page.tsx';
import { forgetDrafts } from './composer/draft.ts';
import { isSessionId } from './base/address.ts';
import type { Address, View } from './base/address.ts';
import { onStoredElsewhere } from './base/stored.ts';
import { ShortcutsDialog } from './base/shortcuts-dialog.tsx';
import { followingTheme, keepTheme, readTheme, showTheme } from './base/theme.ts';
import { useAddress } from './base/use-address.ts';
import { useShortcuts } from './base/use-shortcuts.ts';
import { useSessionKeys } from './conversation/session-keys.ts';
import { SessionPage } from './conversation/session-page.tsx';
import { NotAnId, NothingOpen } from './conversation/state-panel.tsx';
import { TopBar } from './conversation/top-bar.tsx';
import { hasLab } from './lab/lab-client.ts';
import { PanelTabs } from './panel-tabs.tsx';
import type { Panel } from './panel-tabs.tsx';
import { SessionsPanel } from './sessions/sessions-panel.tsx';
import { useLists } from './use-lists.ts';

/** `generation` makes the page start again, with another token or the same. */
interface Access {
  readonly isSignedIn: boolean;
  readonly subject: string | undefined;
  readonly reason?: string;
  readonly generation: number;
}

function known(): Pick<Access, 'isSignedIn' | 'subject'> {
  const token = readToken();
  return { isSignedIn: token !== undefined, subject: token === undefined ? undefined : subjectOf(token) };
}
const begin = ({ generation }: Access): Access => ({ ...known(), generation: generation + 1 });
const isOf = (access: Access, { isSignedIn, subject }: ReturnType<typeof known>): boolean =>
  access.isSignedIn === isSignedIn && access.subject === subject;

export function App(): ReactElement {
  const [access, setAccess] = useState<Access>(() => ({ ...known(), generation: 0 }));
  const refuse = useCallback(
    (reason: string) => setAccess((before) => ({ ...begin(before), isSignedIn: false, reason })),
    [],
  );
  const restart = useCallback(() => setAccess(begin), []);
  // Another tab signed in or out, or as somebody else: so did this one, or it would send what one wrote with the token of
  // another. A token that was renewed meanwhile is asked for when it is needed.
  useEffect(
    () => onStoredElsewhere('token', () => setAccess((before) => (isOf(before, known()) ? before : begin(before)))),
    [],
  );
  useEffect(() => onTokenInAddress(restart), [restart]);
  const signIn = (token: string): void => {
    keepToken(token);
    restart();
  };
  const signOut = useCallback(() => {
    forgetToken();
    forgetDrafts();
    restart();
  }, [restart]);

  if (!access.isSignedIn) return <SignIn reason={access.reason} signIn={signIn} />;
  return <Page key={access.generation} restart={restart} refuse={refuse} signOut={signOut} />;
}

interface PageProps {
  readonly restart: () => void;
  readonly refuse: (reason: string) => void;
  readonly signOut: () => void;
}

function Page({ restart, refuse, signOut }: PageProps): ReactElement {
  const { address, push, replace } = useAddress();
  const [theme, setTheme] = useState(readTheme);
  const [panel, setPanel] = useState<Panel>('conversation');
  const [areShortcutsShown, setAreShortcutsShown] = useState(false);
  const { session } = address;
  const view = address.view === 'crash' && !hasLab() ? undefined : address.view;
  const isUsable = session !== undefined && isSessionId(session);
  const keys = useSessionKeys();
  const lists = useLists(refuse);

  useEffect(() => {
    document.title = titleOf(address);
  }, [address]);
  useEffect(() => showTheme(theme), [theme]);
  const changeTheme = useCallback((next: typeof theme) => {
    keepTheme(next);
    setTheme(next);
  }, []);

  const go = useCallback(
    (to: Address) => {
      push(to);
      setPanel('conversation');
    },
    [push],
  );
  const select = useCallback((chosen: string) => go({ session: chosen }), [go]);
  const showView = useCallback((chosen: View) => go({ view: chosen }), [go]);
  const leave = useCallback(() => push({}), [push]);
  useShortcuts({
    m: () => keys.composer.current?.focus(),
    s: () => keys.stop.current?.click(),
    a: () => lists.attentionCount !== undefined && showView('turns'),
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
        used={lists.sessions}
        failed={lists.failed}
        attention={lists.attentionCount}
        view={view}
        selected={isUsable ? session : undefined}
        theme={theme}
        select={select}
        showView={showView}
        setTheme={changeTheme}
        showShortcuts={showShortcuts}
        signOut={signOut}
      />
      {isUsable && (
        <SessionPage
          key={session}
          session={session}
          at={address.at}
          replace={replace}
          keys={keys}
          restart={restart}
          leave={leave}
          refuse={refuse}
          changed={lists.refresh}
        />
      )}
      {view === 'turns' && <AttentionPage attention={lists.attention} open={select} acted={lists.refresh} />}
      {view === 'crash' && <CrashPage />}
      {!isUsable && view === undefined && (
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

function titleOf({ session, view }: Address): string {
  if (view === 'turns') return 'Needs attention – Ledgerline';
  if (view === 'crash') return 'Crash lab – Ledgerline';
  return session === undefined ? 'Ledgerline' : `${session} – Ledgerline`;
}
