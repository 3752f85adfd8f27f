/** Sends a session's messages one at a time and in order, each until the server has it or refuses it for good. */
import { backoffMs } from './backoff.ts';
import { newKey } from './clock.ts';
import { FollowError } from './follow-error.ts';
import { busyRefusal, inOrder, showEntry } from './outgoing.ts';
import type { Content, Entry, OnBusy, Outgoing, SentMessage } from './outgoing.ts';
import type { OutgoingStore } from './outgoing-store.ts';
import { pause } from './pause.ts';
import type { OpenSenderTabs, SenderNews } from './sender-tabs.ts';
import type { SessionActions } from './session-actions.ts';
import type { SessionEvent } from './session-event.ts';
import type { Surroundings } from './surroundings.ts';
import { fieldsOf } from './timeline-data.ts';
import { whenAborted } from './when-aborted.ts';

export interface SenderParts {
  readonly name: string;
  readonly post: SessionActions['send'];
  readonly store: OutgoingStore;
  readonly openTabs: OpenSenderTabs;
  readonly world: Surroundings;
  /** Another token can be had when the server does not take one. */
  readonly canRenew: boolean;
  /** What the server has stays until its event was taken. */
  readonly isFollowed: boolean;
  readonly onChange: () => void;
}

export interface MessageSender {
  /** The same object until something changes. */
  readonly outgoing: readonly Outgoing[];
  send(content: Content, onBusy: OnBusy): Promise<SentMessage>;
  retry(key: string): void;
  discard(key: string): void;
  /** Events that are shown from now on, and how far that goes. */
  take(events: readonly SessionEvent[], cursor: number): void;
  /** The session is another one than it was, as after a restore: what it took may be gone, and is sent again. */
  reset(): void;
  close(): void;
}

/** A request without an answer after this long is tried again. */
const TRY_MS = 15_000;
const HOUR_MS = 3_600_000;

export function createMessageSender(parts: SenderParts): MessageSender {
  const { name, post, store, world, canRenew, isFollowed, onChange } = parts;
  const { clock } = world;
  const entries = new Map<string, Entry>();
  const over = new AbortController();
  const tabs = parts.openTabs(name, clock, hear);
  let shown: readonly Outgoing[] = [];
  let cursor = 0;
  let isRunning = false;
  /** Why the last try failed; and what may cut the wait for the next one short. */
  let failure: FollowError | undefined;
  let cutWait: (() => void) | undefined;
  let inFlight: string | undefined;

  function changed(): void {
    shown = inOrder(entries.values()).map((entry) => showEntry(entry, failure));
    if (!over.signal.aborted) onChange();
  }

  /** Takes over what other tabs, or this one before a reload, have left to be sent. */
  function refresh(): void {
    for (const kept of store.list()) {
      const entry = entries.get(kept.key);
      if (entry === undefined)
        entries.set(kept.key, { kept, waiting: [], refusal: kept.isHeld === true ? busyRefusal() : undefined });
      else entry.kept = kept;
    }
  }

  const nextToSend = (): Entry | undefined =>
    inOrder(entries.values()).find(({ refusal, sequence }) => refusal === undefined && sequence === undefined);

  function hear(news: SenderNews): void {
    refresh();
    const entry = entries.get(news.key);
    if (entry === undefined) return;
    if (news.kind === 'sent') accept(entry, news.sequence);
    else if (news.kind === 'discarded') drop(entry);
    else if (news.kind === 'refused') refuse(entry, new FollowError('refused', news.message, news));
    else {
      entry.refusal = undefined;
      run();
    }
    changed();
  }

  function accept(entry: Entry, sequence: number): void {
    store.remove(entry.kept.key);
    entry.sequence = sequence;
    entry.refusal = undefined;
    if (!isFollowed || sequence <= cursor) entries.delete(entry.kept.key);
    changed();
    entry.waiting.splice(0).forEach(({ resolve }) => resolve({ sequence }));
  }

  /** What was refused because the agent was busy may be taken later, so it is kept for whoever wrote it. */
  function refuse(entry: Entry, error: FollowError): void {
    entry.refusal = error;
    if (error.problem === 'turn_busy') store.put({ ...entry.kept, isHeld: true });
    else store.remove(entry.kept.key);
    changed();
    entry.waiting.splice(0).forEach(({ reject }) => reject(error));
  }

  function drop(entry: Entry): void {
    store.remove(entry.kept.key);
    entries.delete(entry.kept.key);
    changed();
    entry.waiting.splice(0).forEach(({ reject }) => reject(new FollowError('aborted', 'the message was discarded')));
  }

  function run(): void {
    if (isRunning || over.signal.aborted || nextToSend() === undefined) return;
    isRunning = true;
    void sendAll().finally(() => {
      isRunning = false;
      // What was said while it came to its end.
      run();
    });
  }

  async function sendAll(): Promise<void> {
    for (let attempt = 0; !over.signal.aborted && nextToSend() !== undefined;) {
      const error = await tabs.inTurn(sendNext, over.signal);
      if (over.signal.aborted) return;
      failure = error;
      changed();
      attempt = error === undefined ? 0 : attempt + 1;
      if (error !== undefined) await wait(error, attempt);
    }
  }

  /** Gives why it failed, if trying again may help. */
  async function sendNext(): Promise<FollowError | undefined> {
    // Closed at once, as React does with what it mounts twice, it sends nothing.
    await Promise.resolve();
    refresh();
    const entry = nextToSend();
    if (entry === undefined || over.signal.aborted) return undefined;
    const { key, content, onBusy } = entry.kept;
    const controller = new AbortController();
    const timer = clock.after(TRY_MS, () => controller.abort());
    // Whoever turns to another session has sent it all the same: a close lets the try come to its end.
    inFlight = key;
    try {
      const { sequence } = await post({ key, content, onBusy }, controller.signal);
      failure = undefined;
      // Its event may have come first.
      if (entries.has(key)) accept(entry, sequence);
      tabs.tell({ kind: 'sent', key, sequence });
    } catch (cause) {
      const error = cause instanceof FollowError ? cause : new FollowError('failed', 'this side threw', { cause });
      const { message, status, problem } = error;
      if (over.signal.aborted || !entries.has(key)) return undefined;
      if (error.code !== 'refused' || status === 401) return error;
      failure = undefined;
      refuse(entry, error);
      tabs.tell({ kind: 'refused', key, message, status, problem });
    } finally {
      inFlight = undefined;
      timer.cancel();
    }
    return undefined;
  }

  /** Until it is due, the world has changed, or somebody asks. A token that stays as it is, time does not mend. */
  async function wait(error: FollowError, attempt: number): Promise<void> {
    const waiting = new AbortController();
    const cut = (): void => waiting.abort();
    const stops = [whenAborted(over.signal, cut), world.onWake(cut)];
    cutWait = cut;
    const isFinal = error.code === 'failed' || (error.status === 401 && !canRenew);
    const waitMs = isFinal ? HOUR_MS : Math.max(error.retryAfterMs ?? 0, backoffMs(attempt, clock.random()));
    await pause(clock, waitMs, waiting.signal);
    cutWait = undefined;
    stops.forEach((stop) => stop());
  }

  refresh();
  if (entries.size > 0) changed();
  run();

  return {
    get outgoing() {
      return shown;
    },
    send(content, onBusy) {
      refresh();
      const order = Math.max(0, ...[...entries.values()].map(({ kept }) => kept.order)) + 1;
      const key = newKey();
      const kept = { key, content, onBusy, at: new Date(clock.wall()).toISOString(), order };
      const entry: Entry = { kept, waiting: [] };
      entries.set(key, entry);
      store.put(kept);
      const sent = new Promise<SentMessage>((resolve, reject) => entry.waiting.push({ resolve, reject }));
      // Whoever shows `outgoing` sees it there.
      sent.catch(() => undefined);
      if (over.signal.aborted) drop(entry);
      tabs.tell({ kind: 'kept', key });
      changed();
      run();
      return sent;
    },
    retry(key) {
      const entry = entries.get(key);
      if (entry?.refusal === undefined) return cutWait?.();
      entry.refusal = undefined;
      entry.kept = { ...entry.kept, isHeld: false };
      store.put(entry.kept);
      tabs.tell({ kind: 'kept', key });
      changed();
      run();
    },
    discard(key) {
      const entry = entries.get(key);
      if (entry === undefined || entry.sequence !== undefined || inFlight === key) return;
      drop(entry);
      tabs.tell({ kind: 'discarded', key });
    },
    take(events, reached) {
      cursor = reached;
      for (const { type, data, sequence } of entries.size === 0 ? [] : events) {
        const key = type === 'message.created' ? fieldsOf(data)?.key : undefined;
        const entry = typeof key === 'string' ? entries.get(key) : undefined;
        if (entry !== undefined) accept(entry, sequence);
      }
      for (const entry of entries.values()) {
        if (entry.sequence !== undefined && entry.sequence <= cursor) accept(entry, entry.sequence);
      }
    },
    reset() {
      cursor = 0;
      for (const entry of entries.values()) entry.sequence = undefined;
      run();
    },
    close() {
      over.abort();
      tabs.close();
      const error = new FollowError('aborted', 'it is kept, and goes out when the session is opened again');
      for (const { waiting } of entries.values()) waiting.splice(0).forEach(({ reject }) => reject(error));
    },
  };
}
