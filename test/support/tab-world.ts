/**
 * Tabs of one browser on a manual clock: their locks, their channel and their followers, over a scripted session. A tab
 * can be frozen and thawed, closed by its user, or die; a message between tabs can be late or lost.
 */
import type { Follower, FollowerStatus } from '../../web-client/src/follower.ts';
import { createFollower } from '../../web-client/src/follower.ts';
import type { Token } from '../../web-client/src/token.ts';
import { createSharedReader } from '../../web-client/src/read-shared.ts';
import { createStreamReader } from '../../web-client/src/read-stream.ts';
import type { Reset } from '../../web-client/src/recipient.ts';
import type { SessionEvent } from '../../web-client/src/session-event.ts';
import { createSessionServer } from '../../web-client/src/session-server.ts';
import type { Surroundings, Wake } from '../../web-client/src/surroundings.ts';
import type { OpenTabChannel, TabMessage } from '../../web-client/src/tab-channel.ts';
import type { TabLocks } from '../../web-client/src/tab-lock.ts';
import { manualClock } from './manual-clock.ts';
import type { ManualClock } from './manual-clock.ts';
import { ScriptedSession } from './scripted-session.ts';

const MINUTE_MS = 60_000;

/** What a frozen page does not do. */
class Page {
  isFrozen = false;
  isDead = false;
  /** Its timers run once a minute, as in a tab that was hidden for a while; what it is told it hears at once. */
  isHidden = false;
  /** Of all its followers: what wakes it, and its connections. */
  readonly listeners = new Set<(wake: Wake) => void>();
  readonly lines = new Set<AbortController>();
  #waiting: (() => void)[] = [];

  run(task: () => void): void {
    if (this.isDead) return;
    if (this.isFrozen) this.#waiting.push(task);
    else task();
  }

  thaw(): void {
    this.isFrozen = false;
    for (const task of this.#waiting.splice(0)) this.run(task);
  }

  die(): void {
    this.isDead = true;
    this.#waiting = [];
    this.listeners.clear();
    for (const line of this.lines) line.abort();
  }
}

interface Request {
  readonly page: Page;
  readonly hold: () => Promise<void>;
  readonly settle: (error?: DOMException) => void;
}

/** Web Locks with one name. */
class LockManager {
  holder: Request | undefined;
  readonly queue: Request[] = [];

  of(page: Page): TabLocks {
    return {
      request: (_, options, hold) =>
        new Promise<void>((resolve, reject) => {
          const request: Request = {
            page,
            hold,
            settle: (error) => page.run(() => (error === undefined ? resolve() : reject(error))),
          };
          if ('steal' in options) {
            this.holder?.settle(aborted());
            this.#grant(request);
            return;
          }
          const { signal } = options;
          const leave = (): void => {
            const place = this.queue.indexOf(request);
            if (place < 0) return;
            this.queue.splice(place, 1);
            request.settle(aborted());
          };
          this.queue.push(request);
          if (signal.aborted) leave();
          signal.addEventListener('abort', leave);
          this.#next();
        }),
    };
  }

  /** What the browser does when a page is gone. */
  release(page: Page): void {
    for (const request of this.queue.filter((one) => one.page === page))
      this.queue.splice(this.queue.indexOf(request), 1);
    if (this.holder?.page !== page) return;
    this.holder = undefined;
    this.#next();
  }

  #next(): void {
    if (this.holder !== undefined) return;
    const request = this.queue.shift();
    if (request !== undefined) this.#grant(request);
  }

  #grant(request: Request): void {
    this.holder = request;
    const hold = async (): Promise<void> => {
      await request.hold();
      request.settle();
      if (this.holder !== request) return;
      this.holder = undefined;
      this.#next();
    };
    request.page.run(() => void hold());
  }
}

const denial = (): DOMException => new DOMException('access is denied', 'SecurityError');

const refuse = (): never => {
  throw denial();
};

const aborted = (): DOMException => new DOMException('aborted', 'AbortError');

/** One follower in a tab of its own, or in that of another. */
export interface Tab {
  readonly follower: Follower;
  readonly events: SessionEvent[];
  readonly sequences: number[];
  readonly resets: Reset[];
  readonly statuses: FollowerStatus[];
  readonly state: string;
  freeze(): void;
  thaw(): void;
  hide(): void;
  /** The whole page is gone, without a word. */
  die(): void;
  wake(wake: Wake): void;
}

export interface TabOptions {
  readonly after?: number | 'head';
  readonly token?: Token;
  /** Whose page it lives in. */
  readonly beside?: Tab;
  /** What its page may not do. */
  readonly denied?: 'locks' | 'channel';
  readonly onEvents?: (events: readonly SessionEvent[]) => void | Promise<void>;
}

export interface TabWorld {
  readonly clock: ManualClock;
  readonly session: ScriptedSession;
  readonly tabs: Tab[];
  /** Those whose page is there and whose follower has not stopped. */
  readonly living: Tab[];
  readonly leaders: Tab[];
  /** What becomes of a message to one receiver: so many milliseconds late, or lost. */
  deliver: (message: TabMessage) => number | 'lost';
  readonly messages: TabMessage[];
  /** Of all followers, in the browser and on their pages. */
  readonly remains: { readonly locks: number; readonly channels: number; readonly listeners: number };
  open(options?: TabOptions): Tab;
}

export function createTabWorld(seed = 1, session = new ScriptedSession()): TabWorld {
  const clock = manualClock(seed);
  const locks = new LockManager();
  const members = new Set<{ page: Page; hear: (message: TabMessage) => void; untilMs: number }>();
  const pages = new Map<Tab, Page>();

  const channelOf =
    (page: Page): OpenTabChannel =>
    (_, hear) => {
      const member = { page, hear, untilMs: 0 };
      if (!page.isDead) members.add(member);
      return {
        post(message) {
          world.messages.push(message);
          for (const other of members) {
            const late = other === member ? 'lost' : world.deliver(message);
            if (late === 'lost') continue;
            const copy = structuredClone(message);
            // in order, as a channel delivers
            other.untilMs = Math.max(other.untilMs, clock.now() + late);
            clock.after(other.untilMs - clock.now(), () => {
              if (members.has(other)) other.page.run(() => other.hear(copy));
            });
          }
        },
        close: () => void members.delete(member),
      };
    };

  const world: TabWorld = {
    clock,
    session,
    tabs: [],
    get living() {
      return world.tabs.filter((tab) => tab.follower.status.state !== 'stopped' && pages.get(tab)?.isDead === false);
    },
    get leaders() {
      return world.living.filter((tab) => tab.follower.isLeading);
    },
    deliver: () => 1,
    messages: [],
    get remains() {
      const held = locks.holder === undefined ? 0 : 1;
      const listeners = [...new Set(pages.values())].reduce((sum, page) => sum + page.listeners.size, 0);
      return { locks: held + locks.queue.length, channels: members.size, listeners };
    },
    open(options = {}) {
      const page = (options.beside === undefined ? undefined : pages.get(options.beside)) ?? new Page();
      const tab = openTab(page, options);
      pages.set(tab, page);
      world.tabs.push(tab);
      return tab;
    },
  };

  function openTab(page: Page, { after = 0, token, onEvents, denied }: TabOptions): Tab {
    const listeners = new Set<(wake: Wake) => void>();
    const events: SessionEvent[] = [];
    const resets: Reset[] = [];
    const statuses: FollowerStatus[] = [];
    const surroundings: Surroundings = {
      clock: {
        ...clock,
        after(ms, run) {
          let isCancelled = false;
          const due = (): void => {
            if (!isCancelled) run();
          };
          const heldMs = page.isHidden ? Math.ceil(ms / MINUTE_MS) * MINUTE_MS : ms;
          const timer = clock.after(heldMs, () => page.run(due));
          return {
            cancel() {
              isCancelled = true;
              timer.cancel();
            },
          };
        },
      },
      onWake(listener) {
        listeners.add(listener);
        if (!page.isDead) page.listeners.add(listener);
        return () => {
          listeners.delete(listener);
          page.listeners.delete(listener);
        };
      },
    };
    const wake = (how: Wake): void => [...listeners].forEach((listener) => listener(how));
    const server = createSessionServer({
      url: 'http://ledgerline.test',
      session: 's1',
      token,
      clock: surroundings.clock,
      async fetch(input, init) {
        // the page's own connection, which ends with it
        const line = new AbortController();
        page.lines.add(line);
        const signal = AbortSignal.any([line.signal, ...(init?.signal ? [init.signal] : [])]);
        if (page.isDead) return new Promise<Response>(() => undefined);
        const response = await session.fetch(input, { ...init, signal });
        await new Promise<void>((resolve) => page.run(resolve));
        const { body } = response;
        if (body === null) return response;
        const gate = new TransformStream<Uint8Array, Uint8Array>({
          async transform(chunk, out) {
            await new Promise<void>((resolve) => page.run(resolve));
            out.enqueue(chunk);
          },
        });
        return new Response(body.pipeThrough(gate), response);
      },
    });
    let isLeading = false;
    const read = createSharedReader({
      server,
      surroundings,
      name: 'a session',
      locks: denied === 'locks' ? { request: () => Promise.reject(denial()) } : locks.of(page),
      openChannel: denied === 'channel' ? refuse : channelOf(page),
      wake,
      async lead(recipient, signal) {
        isLeading = true;
        const end = await createStreamReader(server, surroundings)(recipient, signal);
        isLeading = false;
        return end;
      },
    });
    const follower = createFollower({
      read,
      after,
      clock: surroundings.clock,
      callbacks: {
        async onEvents(batch) {
          await onEvents?.(batch);
          events.push(...batch);
        },
        onReset(reset) {
          resets.push(reset);
          events.length = 0;
        },
        onStatus: (status) => void statuses.push(status),
      },
      signal: undefined,
      isLeading: () => isLeading,
      history: (range) => server.history(range),
      reconnect: () => wake('asked'),
    });
    return {
      follower,
      events,
      get sequences() {
        return events.map(({ sequence }) => sequence);
      },
      resets,
      statuses,
      get state() {
        return follower.status.state;
      },
      freeze: () => void (page.isFrozen = true),
      thaw: () => page.thaw(),
      hide: () => void (page.isHidden = true),
      die() {
        page.die();
        locks.release(page);
        for (const member of members) if (member.page === page) members.delete(member);
      },
      wake,
    };
  }
  return world;
}
