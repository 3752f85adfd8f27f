/** Senders of one browser over a scripted session, by a clock of the test's own: tabs that share a storage, a lock and news. */
import { createMessageSender } from '../../web-client/src/message-sender.ts';
import type { MessageSender } from '../../web-client/src/message-sender.ts';
import { createOutgoingStore } from '../../web-client/src/outgoing-store.ts';
import type { MessageStorage } from '../../web-client/src/outgoing-store.ts';
import { createRequester } from '../../web-client/src/requester.ts';
import type { OpenSenderTabs, SenderNews } from '../../web-client/src/sender-tabs.ts';
import { createSessionActions } from '../../web-client/src/session-actions.ts';
import type { Token } from '../../web-client/src/token.ts';
import { manualWorld } from './followed-session.ts';
import type { World } from './followed-session.ts';
import { ScriptedSession } from './scripted-session.ts';

/** As a browser's, in memory. */
export class MemoryStorage implements MessageStorage {
  readonly items = new Map<string, string>();
  isFull = false;

  get length(): number {
    return this.items.size;
  }
  key(place: number): string | null {
    return [...this.items.keys()][place] ?? null;
  }
  getItem(name: string): string | null {
    return this.items.get(name) ?? null;
  }
  setItem(name: string, text: string): void {
    if (this.isFull) throw new DOMException('full', 'QuotaExceededError');
    this.items.set(name, text);
  }
  removeItem(name: string): void {
    this.items.delete(name);
  }
}

export interface OpenedSender extends MessageSender {
  /** Contents and states of what is outgoing. */
  readonly shows: readonly (readonly [content: unknown, state: string])[];
}

export interface SenderScene {
  readonly session: ScriptedSession;
  readonly world: World;
  readonly storage: MemoryStorage;
  /** The most senders that were at it at the same time. */
  readonly mostAtOnce: number;
  /** Whether senders hear of each other. */
  isDeaf: boolean;
  open(options?: { readonly token?: Token; readonly isFollowed?: boolean }): OpenedSender;
  /** Lets what was begun come to where it waits for the clock. */
  settle(): Promise<void>;
}

export function senderScene(): SenderScene {
  const session = new ScriptedSession();
  const world = manualWorld();
  const storage = new MemoryStorage();
  const tabs = new Set<(news: SenderNews) => void>();
  let line: Promise<unknown> = Promise.resolve();
  let atOnce = 0;
  let mostAtOnce = 0;

  const openTabs: OpenSenderTabs = (_name, _clock, hear) => {
    tabs.add(hear);
    return {
      inTurn(run) {
        const mine = line.then(async () => {
          mostAtOnce = Math.max(mostAtOnce, (atOnce += 1));
          try {
            return await run();
          } finally {
            atOnce -= 1;
          }
        });
        line = mine;
        return mine;
      },
      tell(news) {
        const copy = structuredClone(news);
        if (!scene.isDeaf)
          tabs.forEach((other) => other !== hear && queueMicrotask(() => tabs.has(other) && other(copy)));
      },
      close: () => void tabs.delete(hear),
    };
  };

  const scene: SenderScene = {
    session,
    world,
    storage,
    isDeaf: false,
    get mostAtOnce() {
      return mostAtOnce;
    },
    open({ token, isFollowed = false } = {}) {
      const options = { url: 'http://ledgerline.test', token, fetch: session.fetch, clock: world.clock };
      const actions = createSessionActions('s1', createRequester(options), world.clock);
      const sender = createMessageSender({
        name: 'a session',
        post: (message, signal) => actions.send(message, signal),
        store: createOutgoingStore('a session', storage),
        openTabs,
        world,
        canRenew: typeof token === 'function',
        isFollowed,
        onChange: () => undefined,
      });
      return Object.defineProperty(sender, 'shows', {
        get: () => sender.outgoing.map(({ content, state }) => [content, state] as const),
      }) as OpenedSender;
    },
    settle: () => world.clock.settle(),
  };
  return scene;
}
