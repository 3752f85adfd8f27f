/** The agent's side of a view: what it does now, what is said to it, and what it is asked and told. */
import { createSender } from './sender.ts';
import type { SessionServer } from './session-server.ts';
import type { SessionEvent } from './session-event.ts';
import type { SessionSnapshot } from './session-snapshot.ts';
import type { SessionView, SessionViewOptions } from './session-view-shape.ts';
import type { Surroundings } from './surroundings.ts';
import { createTurnWatch } from './turn-watch.ts';
import { untilServed } from './until-served.ts';

export interface SessionAgent {
  /** What the snapshot shows of it. */
  show(state: SessionSnapshot): Pick<SessionSnapshot, 'turn' | 'outgoing'>;
  /** Events that are shown from now on, up to `cursor` if they do not tell. */
  take(events: readonly SessionEvent[], cursor?: number): void;
  reset(): void;
  close(): void;
  readonly actions: Pick<SessionView, 'send' | 'retrySend' | 'discardSend' | 'decide' | 'stopTurn'>;
}

export function createSessionAgent(
  options: SessionViewOptions,
  server: SessionServer,
  world: Surroundings,
  onChange: () => void,
): SessionAgent {
  const over = new AbortController();
  const sender = createSender({ ...options, isFollowed: true, onChange }, world);
  const describe = () => untilServed(() => server.describe(over.signal), world.clock, over.signal);
  const watch = createTurnWatch(describe, onChange);
  let turn: string | undefined;
  return {
    show(state) {
      const now = watch.now(state, state.status.state === 'live');
      ({ turn } = now);
      return { turn: now, outgoing: sender.outgoing };
    },
    take(events, cursor = events.at(-1)?.sequence) {
      watch.take(events);
      if (cursor !== undefined) sender.take(events, cursor);
    },
    reset() {
      watch.reset();
      sender.reset();
    },
    close() {
      over.abort();
      sender.close();
    },
    // Named, it never hits a turn that began after what the reader sees.
    actions: {
      send: (content, how) => sender.send(content, how),
      retrySend: (key) => sender.retrySend(key),
      discardSend: (key) => sender.discardSend(key),
      decide: (approval, choice, comment) => sender.decide(approval, choice, comment),
      stopTurn: (which = turn) => sender.stopTurn(which),
    },
  };
}
