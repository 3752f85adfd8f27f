/** A session's view for as long as its page is shown. */
import { useState, useSyncExternalStore } from 'react';
import { createSessionView } from '../../src/session-view.ts';
import type { SessionSnapshot, SessionView } from '../../src/session-view.ts';
import { subjectOf, tokenOf, tokenOrNothing } from '../access/token.ts';

export interface UsedView {
  readonly view: SessionView;
  readonly snapshot: SessionSnapshot;
}

/** Undefined until it has begun. A session that changes is another component: give it a key. */
export function useSessionView(session: string): UsedView | undefined {
  const [store] = useState(() => createStore(session));
  return useSyncExternalStore(store.subscribe, store.getSnapshot);
}

interface Store {
  readonly subscribe: (listener: () => void) => () => void;
  readonly getSnapshot: () => UsedView | undefined;
}

/** The view begins when the page listens, and ends when it listens no more. */
function createStore(session: string): Store {
  let used: UsedView | undefined;
  return {
    subscribe(listener) {
      const share = subjectOf(tokenOrNothing());
      const view = createSessionView({ url: '', session, token: tokenOf(share), share });
      const take = (): void => void (used = { view, snapshot: view.getSnapshot() });
      const stopListening = view.subscribe(() => {
        take();
        listener();
      });
      take();
      return () => {
        stopListening();
        view.stop();
        if (used?.view === view) used = undefined;
      };
    },
    getSnapshot: () => used,
  };
}
