/** One session on the page: the conversation in the middle and the ledger beside it, over one view. */
import { useCallback, useEffect, useMemo } from 'react';
import type { ReactElement } from 'react';
import { createSessionServer } from '../../src/session-server.ts';
import { hasScope, tokenOrNothing } from '../access/token.ts';
import type { UsedAddress } from '../base/use-address.ts';
import { usePoll } from '../base/use-poll.ts';
import { LedgerRail } from '../ledger/ledger-rail.tsx';
import { JumpField } from '../search/jump-field.tsx';
import { JumpNote } from '../search/jump-note.tsx';
import { SearchField } from '../search/search-field.tsx';
import { useJump } from '../search/use-jump.ts';
import { useSearch } from '../search/use-search.ts';
import { OutgoingList } from '../composer/outgoing-list.tsx';
import { Announcer } from './announcer.tsx';
import { Conversation } from './conversation.tsx';
import { Notices } from './notices.tsx';
import { SessionEnd } from './session-end.tsx';
import { SessionFoot } from './session-foot.tsx';
import type { SessionKeys } from './session-keys.ts';
import { toStage } from './session-stage.ts';
import { Empty, Loading, Refused } from './state-panel.tsx';
import { StatusPill } from './status-pill.tsx';
import { TopBar } from './top-bar.tsx';
import { useSessionView } from './use-session-view.ts';
import type { UsedView } from './use-session-view.ts';
import { WaitingNote } from './waiting-note.tsx';

export interface SessionPageProps {
  readonly session: string;
  /** The sequence to open at. */
  readonly at: number | undefined;
  readonly replace: UsedAddress['replace'];
  readonly keys: SessionKeys;
  readonly restart: () => void;
  /** To no session. */
  readonly leave: () => void;
  /** The token is no longer taken. */
  readonly refuse: (reason: string) => void;
  /** Something happened that a list of sessions shows. */
  readonly changed: () => void;
}

export function SessionPage(props: SessionPageProps): ReactElement {
  const used = useSessionView(props.session);
  if (used !== undefined) return <OpenedSession {...props} {...used} />;
  return (
    <main className="middle" id="main" tabIndex={-1}>
      <TopBar session={props.session} />
      <Loading />
    </main>
  );
}

const FACTS_MS = 1_000;

function OpenedSession(props: SessionPageProps & UsedView): ReactElement {
  const { session, view, snapshot, at, replace, keys, restart, leave, refuse, changed } = props;
  const { status, error, timeline, events, outgoing } = snapshot;
  const ask = useMemo(() => {
    const server = createSessionServer({ url: '', session, token: tokenOrNothing });
    return (signal: AbortSignal) => server.describe(signal);
  }, [session]);
  const facts = usePoll(ask, FACTS_MS);
  const search = useSearch(view, timeline.items);
  const jump = useJump(view);
  const stage = toStage(snapshot);
  const isReady = stage === 'shown';
  const isOver = status.state === 'stopped' || (facts.value !== undefined && facts.value.state !== 'open');

  const isRefused = error?.problem === 'unauthorized';
  useEffect(() => {
    if (isRefused) refuse(error?.message ?? 'it is not taken');
  }, [isRefused, error, refuse]);

  const standing = stage === 'refused' ? 'absent' : isOver ? 'over' : 'open';

  const { to } = jump;
  useEffect(() => {
    if (isReady && at !== undefined) to(at);
  }, [isReady, at, to]);

  const pointAt = useCallback(
    (sequence: number) => {
      // The effect above hears only of a change.
      if (sequence === at) to(sequence);
      else replace({ session, at: sequence });
    },
    [at, replace, session, to],
  );
  const leavePlace = useCallback(() => {
    if (at !== undefined) replace({ session });
  }, [at, replace, session]);
  const retry = useCallback(() => view.reconnect(), [view]);

  return (
    <>
      <main className="middle" id="main" tabIndex={-1}>
        <TopBar session={session} state={facts.value?.state === 'open' ? undefined : facts.value?.state}>
          {isReady && (
            <>
              <SearchField
                search={search}
                field={keys.search}
                hasOlder={snapshot.hasOlder}
                oldest={events[0]?.sequence}
              />
              <JumpField field={keys.jump} go={pointAt} />
            </>
          )}
          <StatusPill status={status} isLeading={snapshot.isLeading} />
        </TopBar>
        <Notices fault={snapshot.fault} reset={snapshot.reset} />
        <div className="stage">
          {stage === 'loading' && <Loading />}
          {stage === 'empty' && <Empty session={session} maySend={hasScope(tokenOrNothing(), 'send')} />}
          {stage === 'refused' && error !== undefined && (
            <Refused session={session} error={error} restart={restart} leave={leave} />
          )}
          {stage === 'shown' && (
            <Conversation
              session={session}
              view={view}
              snapshot={snapshot}
              pattern={search.pattern}
              match={search.current}
              target={jump.target}
              isOver={isOver}
              foot={
                <>
                  <OutgoingList outgoing={outgoing} view={view} />
                  <SessionEnd status={status} last={timeline.last} restart={restart} />
                </>
              }
              latest={keys.latest}
              pointAt={pointAt}
              leavePlace={leavePlace}
              changed={changed}
            />
          )}
          <div className="notes">
            <WaitingNote status={status} retry={retry} />
            <JumpNote jump={jump} />
          </div>
        </div>
        {stage !== 'refused' && (
          <SessionFoot
            session={session}
            view={view}
            snapshot={snapshot}
            isKnown={stage !== 'loading'}
            isOver={isOver}
            keys={keys}
            pointAt={pointAt}
            changed={changed}
          />
        )}
        <Announcer timeline={timeline} isLive={status.state === 'live'} />
      </main>
      <LedgerRail
        session={session}
        view={view}
        snapshot={snapshot}
        facts={facts}
        standing={standing}
        pointAt={pointAt}
      />
    </>
  );
}
