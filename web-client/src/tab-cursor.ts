/** A follower behind a leader, of another tab or of its own: nothing but a cursor, and history where it missed something. */
import { placeOf } from './arithmetic.ts';
import { backoffMs } from './backoff.ts';
import type { Clock } from './clock.ts';
import { FollowError } from './follow-error.ts';
import { pause } from './pause.ts';
import type { End, Recipient, Reset } from './recipient.ts';
import type { SessionEvent } from './session-event.ts';
import type { HistoryPage, SessionServer } from './session-server.ts';
import type { LeaderState, Statement } from './tab-channel.ts';
import { whenAborted } from './when-aborted.ts';

/** What is held while history is read or the consumer is at work. What comes beyond is read again. */
const MOST_HELD_EVENTS = 500;
const PAGE_EVENTS = 1_000;

export interface TabCursorParts {
  readonly recipient: Recipient;
  readonly server: Pick<SessionServer, 'history'>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** What it hears comes over a connection of its own, whose token the server took. */
  readonly isLeading: () => boolean;
  /** There is nothing more to come. */
  readonly finish: (end: End) => void;
}

export interface TabCursor {
  hear(message: Statement): void;
  /** Resolves when all that was said is taken; undefined when it is. */
  readonly work: Promise<void> | undefined;
  /** The leader should look after its connection: it knows less than this follower has, or its next try is overdue. */
  readonly isNeglected: boolean;
  /** Ends the wait for history, if there is one. */
  hurry(): boolean;
}

export function createTabCursor(parts: TabCursorParts): TabCursor {
  const { recipient, server, clock, signal, finish } = parts;
  let held: (readonly SessionEvent[])[] = [];
  let heldEvents = 0;
  /** The highest sequence that anybody spoke of. */
  let reached = 0;
  let head = 0;
  let leader: LeaderState & { readonly head?: number | undefined } = { kind: 'connecting' };
  let reset: Reset | undefined;
  let ended: 'closed' | 'deleted' | undefined;
  let shown = '';
  let isDoubtful = false;
  /** The server gave it a page, so it may hear what the others hear. */
  let isAdmitted = false;
  let wait: AbortController | undefined;
  let failures = 0;
  let work: Promise<void> | undefined;
  let isHeard = false;

  const isAhead = (): boolean =>
    leader.kind === 'live' && leader.head !== undefined && leader.head < Number(recipient.cursor);

  function hear(message: Statement): void {
    switch (message.kind) {
      case 'events':
        hold(message.events);
        break;
      case 'here':
        leader = { ...message.state, head: message.head };
        head = Math.max(head, message.head ?? 0);
        reached = Math.max(reached, message.cursor);
        // its connection may be a dead one; or the database was restored, and this follower did not hear of it
        isDoubtful = isAhead();
        break;
      case 'reset':
        restart(message.reset);
        break;
      case 'end':
        ended = message.reason;
        reached = Math.max(reached, message.cursor);
        break;
    }
    isHeard = true;
    work ??= run();
  }

  function hold(events: readonly SessionEvent[]): void {
    reached = Math.max(reached, events.at(-1)?.sequence ?? 0);
    if (heldEvents > 0 && heldEvents + events.length > MOST_HELD_EVENTS) return;
    held.push(events);
    heldEvents += events.length;
  }

  function restart(from: Reset): void {
    reset = from;
    // told again where it is, as the head has fallen
    shown = '';
    head = from.head;
    reached = from.cursor;
    held = [];
    heldEvents = 0;
  }

  /** One thing after the other, so that nothing overtakes a consumer at work. */
  async function run(): Promise<void> {
    // not before the promise is in `work`
    await Promise.resolve();
    try {
      // What is heard while a step comes to its end finds `work` still there, and nobody but this to look again.
      do isHeard = false;
      while (!signal.aborted && ((await step()) || isHeard));
    } catch (cause) {
      finish({ kind: 'refused', error: new FollowError('failed', 'what takes the events threw', { cause }) });
    }
    work = undefined;
  }

  /** False when there is nothing to do until something is heard. */
  async function step(): Promise<boolean> {
    if (reset !== undefined) takeReset(reset);
    if (ended === 'deleted') return end(ended);
    isAdmitted ||= leader.head !== undefined && parts.isLeading();
    show();
    const { cursor } = recipient;
    if (cursor !== 'head') {
      const events = (isAdmitted ? next(cursor) : undefined) ?? (isBehind(cursor) ? await read(cursor) : undefined);
      if (events !== undefined) {
        if (events.length > 0) await recipient.events(events);
        return true;
      }
    }
    return ended !== undefined && end(ended);
  }

  const isBehind = (cursor: number): boolean =>
    reached > cursor || isDoubtful || (!isAdmitted && leader.head !== undefined);

  function takeReset(from: Reset): void {
    const cursor = Number(recipient.cursor);
    if (cursor > from.head || cursor < from.cursor) recipient.reset(from);
    reset = undefined;
  }

  function end(reason: 'closed' | 'deleted'): false {
    finish({ kind: 'ended', reason });
    return false;
  }

  function show(): void {
    const { cursor } = recipient;
    const isServed = leader.head !== undefined && (leader.kind === 'replaying' || leader.kind === 'live');
    if (!isServed) {
      const state = leader.kind === 'waiting' ? `until ${leader.until}` : 'connecting';
      if (shown === state) return;
      shown = state;
      if (leader.kind !== 'waiting') return recipient.connecting();
      return recipient.waiting(leader.cause, Math.max(0, leader.until - clock.wall()), leader.attempt);
    }
    const start = cursor === 'head' ? head : cursor;
    const top = Math.max(head, start);
    if (shown !== 'replaying' && (shown !== 'live' || leader.kind === 'replaying')) {
      shown = 'replaying';
      recipient.hello(start, top);
    }
    if (shown !== 'live' && leader.kind === 'live' && isAdmitted && start >= reached) {
      shown = 'live';
      recipient.connected(top);
    }
    recipient.head(top);
  }

  /** Of what is held, what comes next. Repeats are dropped, and what lies behind a gap waits. */
  function next(cursor: number): readonly SessionEvent[] | undefined {
    for (let events = held[0]; events !== undefined; events = held[0]) {
      const place = events.findIndex(({ sequence }) => sequence > cursor);
      const first = events[place];
      if (first !== undefined && placeOf(cursor, first.sequence) === 'gap') return undefined;
      held.shift();
      heldEvents -= events.length;
      if (first !== undefined) return place === 0 ? events : events.slice(place);
    }
    return undefined;
  }

  /** What history has after the cursor, if that is right to take. */
  async function read(cursor: number): Promise<readonly SessionEvent[]> {
    let page: HistoryPage;
    try {
      page = await server.history({ after: cursor, limit: PAGE_EVENTS }, signal);
    } catch (error) {
      return failed(error as FollowError);
    }
    // Read before a reset, it may be of a history that never was.
    if (reset !== undefined || signal.aborted) return [];
    const { events, floor } = page;
    const isRestored = page.head < cursor;
    if (isRestored || floor > cursor) {
      restart({ reason: isRestored ? 'restored' : 'expired', cursor: floor, head: page.head });
      reached = page.head;
      return [];
    }
    const last = events.at(-1)?.sequence ?? page.head;
    if (last - cursor !== events.length) return failed(new FollowError('unavailable', 'a page with a hole'));
    failures = 0;
    isDoubtful = false;
    isAdmitted = true;
    head = Math.max(head, page.head);
    if (events.length === 0) reached = cursor;
    return events;
  }

  async function failed(error: FollowError): Promise<readonly SessionEvent[]> {
    if (signal.aborted) return [];
    if (error.code !== 'unavailable' && error.code !== 'token') {
      finish(error.problem === 'session_deleted' ? { kind: 'ended', reason: 'deleted' } : { kind: 'refused', error });
      return [];
    }
    failures += 1;
    const waitMs = Math.max(error.retryAfterMs ?? 0, backoffMs(failures, clock.random()));
    shown = '';
    recipient.waiting(error.code === 'token' ? 'token' : 'unreachable', waitMs, failures);
    wait = new AbortController();
    const stopListening = whenAborted(signal, () => wait?.abort());
    await pause(clock, waitMs, wait.signal);
    stopListening();
    wait = undefined;
    return [];
  }

  return {
    hear,
    hurry() {
      wait?.abort();
      return wait !== undefined;
    },
    get work() {
      return work;
    },
    get isNeglected() {
      // the timers of a hidden tab may be a minute late
      return leader.kind === 'waiting' ? leader.until < clock.wall() : isAhead();
    },
  };
}
