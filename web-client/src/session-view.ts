/** A session as a screen needs it: opened at the end, growing live, older pages on demand; a store without a framework. */
import { readFirstPage } from './first-page.ts';
import { FollowError } from './follow-error.ts';
import { followSession } from './follow-session.ts';
import type { Follower, FollowerStatus } from './follow-session.ts';
import { oncePerFrame } from './frame-schedule.ts';
import type { Reset } from './recipient.ts';
import type { SessionEvent } from './session-event.ts';
import { createSessionAgent } from './session-agent.ts';
import { createSessionServer } from './session-server.ts';
import type { SessionSnapshot } from './session-snapshot.ts';
import type { SessionView, SessionViewOptions } from './session-view-shape.ts';
import { above, emptyWindow, grow, growBack, trim } from './session-window.ts';
import { readBack } from './read-back.ts';
import type { LoadBackOptions } from './read-back.ts';
import { createSurroundings } from './surroundings.ts';
import { handOn } from './token-hand-on.ts';

export type { LoadBackOptions, SessionSnapshot, SessionView, SessionViewOptions };

const FIRST_EVENTS = 200;
const MOST_EVENTS = 20_000;
const PAGE_EVENTS = 1_000;

/** Starts at once; the callbacks come later than this returns, and `onEvents` has the first screen's events too. */
export function createSessionView(options: SessionViewOptions, world = createSurroundings()): SessionView {
  const { initial = FIRST_EVENTS, most = MOST_EVENTS, after, token } = options;
  const { first: firstToken, second: streamToken } = handOn(token);
  const server = createSessionServer({ ...options, clock: world.clock, token: firstToken });
  const listeners = new Set<() => void>();
  /** Who waits for the next snapshot. */
  const waiting: (() => void)[] = [];
  /** Ends with the view, or when the session turned out to be another one. */
  let lifetime = new AbortController();
  /** Ends with any reset: a page that was asked for before belongs to what is gone. */
  let edition = new AbortController();
  let follower: Follower | undefined;
  let opened = Promise.resolve();
  let loading: Promise<void> | undefined;
  let cutWait: (() => void) | undefined;
  let isAtEnd = true;
  /** Who needs that nothing is taken away, wherever the reader looks. */
  const keepers = new Set<object>();
  let arrived: readonly SessionEvent[] = [];
  let state: SessionSnapshot = {
    ...emptyWindow,
    status: { state: 'connecting' },
    cursor: after ?? 'head',
    head: 0,
    floor: 0,
    hasOlder: false,
    isLoadingOlder: false,
    isLeading: false,
    turn: { state: 'idle' },
    outgoing: [],
  };
  let snapshot = state;

  const publishSoon = oncePerFrame(world.clock, () => {
    absorb();
    snapshot = {
      ...state,
      cursor: cursorNow(),
      head: Math.max(state.head, follower?.head ?? 0),
      hasOlder: firstNow() > state.floor + 1,
      isLeading: follower?.isLeading ?? false,
      ...agent.show(state),
    };
    listeners.forEach((listener) => listener());
    waiting.splice(0).forEach((resolve) => resolve());
  });

  const agent = createSessionAgent(options, server, world, publishSoon);

  function change(changes: Partial<SessionSnapshot>): void {
    state = { ...state, ...changes };
    publishSoon();
  }

  const cursorNow = () => state.events.at(-1)?.sequence ?? follower?.cursor ?? state.cursor;

  /** The first event that is here, or would be. */
  function firstNow(): number {
    const cursor = cursorNow();
    return state.events[0]?.sequence ?? (cursor === 'head' ? 0 : cursor + 1);
  }

  function absorb(): void {
    if (arrived.length === 0) return;
    const grown = grow(state, arrived);
    agent.take(arrived);
    arrived = [];
    // While an older page is on its way, its place must stay where it is.
    state = { ...state, ...(isAtEnd && keepers.size === 0 && loading === undefined ? trim(grown, most) : grown) };
  }

  function show(status: FollowerStatus): void {
    change({
      status,
      error: status.state === 'stopped' && status.end.kind === 'refused' ? status.end.error : undefined,
    });
    if (status.state === 'stopped') options.signal?.removeEventListener('abort', stop);
    Promise.resolve(status)
      .then((told) => options.onStatus?.(told))
      .catch(refuse);
  }

  function refuse(cause: unknown): void {
    const error = cause instanceof FollowError ? cause : new FollowError('failed', 'a callback threw', { cause });
    const status: FollowerStatus = { state: 'stopped', end: { kind: 'refused', error } };
    lifetime.abort();
    // Thrown when it was told of the end: the snapshot is all that is left to say so.
    if (state.status.state === 'stopped') change({ status, error });
    else show(status);
  }

  function start(): void {
    lifetime = new AbortController();
    const { signal } = lifetime;
    opened = Promise.resolve()
      .then(() => (options.signal?.aborted === true ? stop() : open(signal)))
      .catch((cause: unknown) => {
        if (!signal.aborted) refuse(cause);
      });
  }

  async function open(signal: AbortSignal): Promise<void> {
    // Stopped at once, as React does with what it mounts twice.
    if (signal.aborted) return;
    let from = after;
    if (from === undefined) {
      const onWait = (cut: () => void): void => void (cutWait = cut);
      const page = await readFirstPage({ server, limit: initial, world, signal, show, onWait });
      const { events, last, head, floor } = page;
      from = last ?? head;
      agent.take(events, from);
      change({ ...grow(emptyWindow, events), cursor: from, head, floor });
      if (events.length > 0) await options.onEvents?.(events);
    }
    if (!signal.aborted) follower = follow(from, signal);
  }

  const follow = (from: number | 'head', signal: AbortSignal): Follower =>
    followSession(
      {
        ...options,
        after: from,
        signal,
        token: streamToken,
        onEvents(events) {
          arrived = arrived.concat(events);
          // A hidden page may not come to show them for a minute.
          if (arrived.length > PAGE_EVENTS) absorb();
          publishSoon();
          return options.onEvents?.(events);
        },
        onReset: (reset) => startOver(reset),
        onStatus: (status) => void (signal.aborted || show(status)),
        onFault(fault) {
          change({ fault });
          return options.onFault?.(fault);
        },
      },
      world,
    );

  /** What was expired may go on above the floor; anything else tells of another history, which is opened anew. */
  function startOver(reset: Reset): void {
    const { reason, cursor: floor, head } = reset;
    absorb();
    edition.abort();
    edition = new AbortController();
    agent.reset();
    const isExpired = reason === 'expired';
    change({ ...(isExpired ? above(state, floor) : emptyWindow), reset, cursor: floor, floor, head });
    if (!isExpired && after === undefined) {
      lifetime.abort();
      follower = undefined;
      start();
      show({ state: 'connecting' });
    }
    return options.onReset?.(reset);
  }

  /** The page before the first event, or as many as it takes to reach `sequence`. */
  function load(limit: number, { signal, onProgress }: LoadBackOptions = {}, sequence?: number): Promise<void> {
    const mine = (async () => {
      await opened;
      absorb();
      const { signal: over } = edition;
      const { floor } = state;
      const first = firstNow();
      const target = Math.max(sequence ?? first - 1, floor + 1);
      if (first <= target || over.aborted) return;
      change({ isLoadingOlder: true });
      const back = await readBack(server, { first, target, floor, limit, signals: [over, signal], onProgress });
      absorb();
      change({ isLoadingOlder: false, ...(over.aborted ? {} : { ...growBack(state, back.older), floor: back.floor }) });
      // Whoever is told that it has come may ask for the next one at once.
      if (back.failure === undefined) loading = undefined;
      await new Promise<void>((resolve) => waiting.push(resolve));
      if (back.failure !== undefined) throw back.failure.cause;
    })().finally(() => {
      if (loading === mine) loading = undefined;
    });
    return (loading = mine);
  }

  function keepAll(): () => void {
    const keeper = {};
    keepers.add(keeper);
    return () => void keepers.delete(keeper);
  }

  function stop(): void {
    edition.abort();
    lifetime.abort();
    agent.close();
    if (state.status.state !== 'stopped') show({ state: 'stopped', end: { kind: 'aborted' } });
  }

  options.signal?.addEventListener('abort', stop);
  start();

  return {
    getSnapshot: () => snapshot,
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    loadOlder: (limit = FIRST_EVENTS) => loading ?? load(limit),
    async loadBackTo(sequence, how) {
      const { signal: over } = edition;
      const release = keepAll();
      try {
        while (loading !== undefined) await loading.catch(() => undefined);
        await load(PAGE_EVENTS, how, sequence);
        // Else the reader stays where it was.
        if (!over.aborted && how?.signal?.aborted !== true) isAtEnd = false;
      } finally {
        release();
      }
    },
    setAtEnd: (isThere) => void (isAtEnd = isThere),
    keepAll,
    reconnect: () => (follower === undefined ? cutWait?.() : follower.reconnect()),
    stop,
    ...agent.actions,
  };
}
