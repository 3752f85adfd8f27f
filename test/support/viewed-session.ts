/** A session's view over a scripted session, by a clock of the test's own, and how often it told that it changed. */
import type { SessionEvent } from '../../web-client/src/session-event.ts';
import { createSessionView } from '../../web-client/src/session-view.ts';
import type { SessionSnapshot, SessionView, SessionViewOptions } from '../../web-client/src/session-view.ts';
import { manualWorld } from './followed-session.ts';
import type { World } from './followed-session.ts';
import { ScriptedSession } from './scripted-session.ts';

export interface Viewed {
  readonly view: SessionView;
  readonly session: ScriptedSession;
  readonly world: World;
  /** One for each time that the view told of a change. */
  readonly snapshots: SessionSnapshot[];
  readonly now: SessionSnapshot;
  /** The sequences of what is held, first and last. */
  readonly span: readonly (number | undefined)[];
  /** What was asked of the history, in order. */
  readonly pages: string[];
  /** Lets what was sent arrive, and be shown. */
  settle(): Promise<void>;
  /** Goes on until the work is done, and gives what became of it. */
  finish<T>(work: Promise<T>): Promise<T>;
  /** Nothing of the view is left: no timer, no listener, no open stream. */
  readonly remains: { readonly timers: number; readonly listeners: number; readonly streams: number };
}

export interface ViewedOptions extends Partial<SessionViewOptions> {
  readonly of?: ScriptedSession;
}

export function viewScripted(options: ViewedOptions = {}): Viewed {
  const { of: session = new ScriptedSession(), ...rest } = options;
  const world = manualWorld();
  const view = createSessionView(
    { url: 'http://ledgerline.test', session: 's1', share: false, fetch: session.fetch, ...rest },
    world,
  );
  const snapshots: SessionSnapshot[] = [];
  view.subscribe(() => snapshots.push(view.getSnapshot()));
  return {
    view,
    session,
    world,
    snapshots,
    get now() {
      return view.getSnapshot();
    },
    get span() {
      const { events } = view.getSnapshot();
      return [events[0]?.sequence, events.at(-1)?.sequence];
    },
    get pages() {
      return session.asked.filter(({ path }) => path.endsWith('/events')).map(({ query }) => query);
    },
    settle: () => world.clock.advance(100),
    async finish(work) {
      let isDone = false;
      const ending = work.finally(() => (isDone = true));
      // Rejects again below, where somebody awaits it.
      ending.catch(() => undefined);
      while (!isDone) await world.clock.advance(10);
      return ending;
    },
    get remains() {
      return { timers: world.clock.waiting, listeners: world.listeners, streams: session.open.length };
    },
  };
}

export const isContiguous = (events: readonly SessionEvent[]): boolean =>
  events.every(({ sequence }, index) => sequence === (events[0]?.sequence ?? 0) + index);
