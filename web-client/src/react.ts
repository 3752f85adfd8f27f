/** Follows a session from a React component. */
import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { FollowError } from './follow-error.ts';
import { createSessionView } from './session-view.ts';
import type { SessionSnapshot, SessionView, SessionViewOptions } from './session-view.ts';
import { emptyTimeline } from './timeline.ts';

/** As for a view; without a session nothing is followed. */
export type UseSessionOptions = Omit<SessionViewOptions, 'session'> & { readonly session: string | undefined };

interface Actions extends Pick<
  SessionView,
  'loadOlder' | 'loadBackTo' | 'setAtEnd' | 'reconnect' | 'send' | 'retrySend' | 'discardSend' | 'decide'
> {
  /** Asks the agent to stop. */
  readonly stop: SessionView['stopTurn'];
}

export type UsedSession = SessionSnapshot & Actions;

const nothing = {
  events: [],
  timeline: emptyTimeline,
  cursor: 'head',
  head: 0,
  floor: 0,
  hasOlder: false,
  isLoadingOlder: false,
  isLeading: false,
  turn: { state: 'idle' },
  outgoing: [],
} as const;
const connecting: SessionSnapshot = { ...nothing, status: { state: 'connecting' } };
/** No session is named. */
const idle: SessionSnapshot = { ...nothing, status: { state: 'stopped', end: { kind: 'aborted' } } };

/**
 * The session as it is now, and again whenever it changes. Another value of an option opens it anew; a function (`token`,
 * `fetch`, a callback) may be another one each time, and the last one is asked.
 */
export function useSession(options: UseSessionOptions): UsedSession {
  const { session, signal } = options;
  const latest = useRef(options);
  const [opened, setOpened] = useState<{ readonly identity: string; readonly view: SessionView }>();
  const identity = identityOf(options);
  useEffect(() => {
    latest.current = options;
  });

  useEffect(() => {
    if (session === undefined) return undefined;
    const view = createSessionView({ ...latest.current, session, signal, ...lastOf(latest) });
    setOpened({ identity, view });
    return () => view.stop();
    // what the options are is in their identity
  }, [identity, session, signal]);

  // For one render after the options changed there is only the view of the ones before.
  const view = opened?.identity === identity ? opened.view : undefined;
  const waiting = session === undefined ? idle : connecting;
  const snapshot = useSyncExternalStore(
    useCallback((listener: () => void) => view?.subscribe(listener) ?? (() => undefined), [view]),
    () => view?.getSnapshot() ?? waiting,
    () => waiting,
  );
  const actions = useMemo<Actions>(
    () => ({
      loadOlder: (limit) => view?.loadOlder(limit) ?? Promise.resolve(),
      loadBackTo: (sequence, how) => view?.loadBackTo(sequence, how) ?? Promise.resolve(),
      setAtEnd: (isAtEnd) => view?.setAtEnd(isAtEnd),
      reconnect: () => view?.reconnect(),
      send: (content, how) => view?.send(content, how) ?? notOpen(),
      retrySend: (key) => view?.retrySend(key),
      discardSend: (key) => view?.discardSend(key),
      decide: (approval, decision, comment) => view?.decide(approval, decision, comment) ?? notOpen(),
      stop: (turn) => view?.stopTurn(turn) ?? notOpen(),
    }),
    [view],
  );
  return useMemo(() => ({ ...snapshot, ...actions }), [snapshot, actions]);
}

const notOpen = (): Promise<never> => Promise.reject(new FollowError('aborted', 'no session is open yet'));

/** All that is no function, and whether there is one. */
function identityOf(options: UseSessionOptions): string {
  const { url, session, token, credentials, after, share, initial, most } = options;
  const isAsked = typeof token === 'function';
  const hasFetch = options.fetch !== undefined;
  return JSON.stringify([url, session, isAsked || [token], hasFetch, credentials, after, share, initial, most]);
}

/** The functions, looked up when they are called. */
function lastOf(latest: { readonly current: UseSessionOptions }): Partial<SessionViewOptions> {
  const { token, fetch: given } = latest.current;
  return {
    token:
      typeof token === 'function'
        ? () => {
            const last = latest.current.token;
            return typeof last === 'function' ? last() : (last ?? '');
          }
        : token,
    // Without one of the caller's, an address or a token that can never be sent is told from a network that is away.
    fetch: given && ((input, init) => (latest.current.fetch ?? given)(input, init)),
    onEvents: (events) => latest.current.onEvents?.(events),
    onReset: (reset) => latest.current.onReset?.(reset),
    onStatus: (status) => latest.current.onStatus?.(status),
    onFault: (fault) => latest.current.onFault?.(fault),
  };
}
