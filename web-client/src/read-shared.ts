/** Reads a session over one connection for all tabs and followers: one of them leads, and tells the others. */
import { backoffMs } from './backoff.ts';
import { pause } from './pause.ts';
import type { End, Read, Recipient } from './recipient.ts';
import type { SessionServer } from './session-server.ts';
import type { Surroundings, Wake } from './surroundings.ts';
import { openTabChannel } from './tab-channel.ts';
import type { LeaderMessage, OpenTabChannel, Statement, TabChannel, TabMessage } from './tab-channel.ts';
import { createTabCursor } from './tab-cursor.ts';
import { createTabLeader } from './tab-leader.ts';
import { takeTurn } from './tab-lock.ts';
import type { TabLocks } from './tab-lock.ts';
import { createTabWatch } from './tab-watch.ts';
import { whenAborted } from './when-aborted.ts';

/** So long the lock is held when the session is over and everybody was told. */
const LINGER_MS = 500;
/** Whoever was robbed is told within this time, which is less than two asks take. */
const CLAIM_MS = 500;
/** Nobody was heard of for so long: nobody is there. The timers of a hidden tab may be a minute late. */
const LONELY_MS = 100_000;

export interface SharedReaderOptions {
  readonly server: Pick<SessionServer, 'history'>;
  readonly surroundings: Surroundings;
  /** Of the lock and the channel: the same for all that may share, and for nobody else. */
  readonly name: string;
  /** Reads over a connection of its own. */
  readonly lead: Read;
  /** Tells all that listen to the surroundings, as they would tell it. */
  readonly wake: (wake: Wake) => void;
  readonly locks?: TabLocks | undefined;
  readonly openChannel?: OpenTabChannel | undefined;
}

/** Whether this is a page or a worker, whose origin belongs to one user, and can share. */
export const canShare = (): boolean =>
  typeof location !== 'undefined' && typeof BroadcastChannel !== 'undefined' && 'locks' in navigator;

/** Tabs that tell each other something else keep to themselves: the version is theirs. */
export const shareName = (url: string, session: string, partition: string): string =>
  JSON.stringify(['ledgerline', 1, url.replace(/\/+$/, '') || location.origin, session, partition]);

export function createSharedReader(options: SharedReaderOptions): Read {
  return async (recipient, signal) => {
    const end = await share(options, recipient, signal);
    return end ?? options.lead(recipient, signal);
  };
}

const isAborted = (signal: AbortSignal): Promise<true> =>
  new Promise((resolve) => void whenAborted(signal, () => resolve(true)));

/** Undefined when nothing can be shared here. */
async function share(options: SharedReaderOptions, own: Recipient, signal: AbortSignal): Promise<End | undefined> {
  const { server, surroundings, name, locks = navigator.locks, openChannel = openTabChannel } = options;
  const { clock } = surroundings;
  const over = new AbortController();
  let end: End | undefined;
  let queue = new AbortController();
  let isTheft = false;
  /** In a row, for want of a token. */
  let resignations = 0;
  let hasResigned = false;
  /** The latest leader's, and the one in which this one leads. */
  let term = 0;
  let mine = 0;
  let claimedAtMs = 0;
  /** Says where this one is, if it leads. */
  let tell: (() => void) | undefined;
  let wake: Wake | undefined;
  let heardAtMs = -Infinity;
  const hasCompany = (): boolean => clock.now() - heardAtMs < LONELY_MS;

  const finish = (how?: End): void => {
    if (!over.signal.aborted) end = how;
    over.abort();
    queue.abort();
  };
  const cursor = createTabCursor({
    recipient: own,
    server,
    clock,
    signal: over.signal,
    isLeading: () => tell !== undefined,
    finish,
  });
  const watch = createTabWatch({
    clock,
    ask() {
      channel.post({ kind: 'ask', wake: wake ?? (cursor.isNeglected ? 'visible' : undefined) });
      wake = undefined;
    },
    dead() {
      isTheft = true;
      queue.abort();
    },
  });

  function hear(message: TabMessage): void {
    heardAtMs = clock.now();
    if (message.kind === 'ask') {
      if (tell === undefined) return;
      if (message.wake !== undefined) options.wake(message.wake);
      // somebody claimed a later term, and this one still holds the lock: a thief's claim would have been confirmed
      if (mine < term && clock.now() - claimedAtMs > CLAIM_MS) mine = term += 1;
      tell();
    } else if (message.term >= term) {
      if (message.term > term) claimedAtMs = clock.now();
      term = message.term;
      watch.heard();
      cursor.hear(message);
    }
  }

  async function lead(lost: AbortSignal): Promise<void> {
    watch.stop();
    isTheft = false;
    const office = new AbortController();
    const leave = () => office.abort();
    const stops = [lost, over.signal].map((reason) => whenAborted(reason, leave));
    mine = term = Math.max(clock.wall(), term + 1);
    const say = (statement: Statement): void => {
      // a later leader has spoken: this one was robbed, it seems, and will be told
      if (mine < term || office.signal.aborted) return;
      const message: LeaderMessage = { ...statement, term: mine };
      // one that is alone spares itself the copies
      if (message.kind !== 'events' || hasCompany()) channel.post(message);
      cursor.hear(message);
    };
    const leader = createTabLeader({
      own,
      clock,
      signal: office.signal,
      say,
      cursor,
      hasCompany,
      resign() {
        hasResigned = true;
        leave();
      },
    });
    ({ tell } = leader);
    tell();
    const how = await options.lead(leader.recipient, office.signal);
    if (how.kind === 'ended') {
      tell = () => say({ kind: 'end', reason: how.reason, cursor: Number(leader.recipient.cursor) || 0 });
      tell();
      // whoever comes before this tab has taken everything is told too
      await isAborted(office.signal);
      // the lock is faster than the channel, and the next would ask the server
      await pause(clock, LINGER_MS, lost);
    } else if (how.kind === 'refused') finish(how);
    tell = undefined;
    for (const stopListening of stops) stopListening();
    if (!over.signal.aborted) watch.start();
  }

  let channel: TabChannel;
  try {
    channel = openChannel(name, hear);
  } catch {
    // a frame whose storage is blocked
    return undefined;
  }
  const stopListening = surroundings.onWake((how) => {
    if (tell !== undefined) return;
    if (cursor.hurry()) return;
    wake = how === 'asked' ? how : 'visible';
    watch.start(true);
  });
  const stopHeeding = whenAborted(signal, () => finish({ kind: 'aborted' }));
  if (!over.signal.aborted) watch.start();
  const isOver = isAborted(over.signal);
  let canLock = true;
  while (canLock && !over.signal.aborted) {
    queue = new AbortController();
    hasResigned = false;
    const turn = takeTurn({ locks, name, isTheft, signal: queue.signal, hold: lead });
    canLock = await Promise.race([turn, isOver]);
    resignations = hasResigned ? resignations + 1 : 0;
    if (hasResigned) await pause(clock, backoffMs(resignations, clock.random()), over.signal);
  }
  finish();
  watch.stop();
  stopListening();
  stopHeeding();
  channel.close();
  return end;
}
