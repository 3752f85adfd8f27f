/** What a session's effects have others told, and whether there is more to hear of it (pure, but for the asking). */
import { request } from '../base/request.ts';

export interface Delivery {
  readonly number: number;
  readonly topic: string;
  readonly turn: string;
  readonly step: number;
  /** `refused`, and tried again; `dead`: given up. */
  readonly state: 'waiting' | 'refused' | 'published' | 'dead';
  readonly attempts: number;
  /** Since when it is so. */
  readonly since: string;
  readonly error: string | null;
  /** Who has applied it, as far as the server knows. */
  readonly applied: readonly string[];
}

export interface DeliveryPage {
  /** The newest first. */
  readonly deliveries: readonly Delivery[];
  /** Null: there are no older ones. */
  readonly next: number | null;
}

const MOST_SHOWN = 50;
/** So often an answer may be the same before those that publish and apply are taken to have nothing to add. */
const MOST_PATIENCE = 15;

/** Rejects with a `FollowError`. */
export const readDeliveries = (session: string, signal: AbortSignal): Promise<DeliveryPage> =>
  request('GET', `/sessions/${encodeURIComponent(session)}/deliveries?limit=${MOST_SHOWN}`, { signal });

/**
 * Nothing more is to be heard of these. Who is to apply one is known by nobody: whoever applied another of its topic; where there
 * is nobody yet, they are waited for, but not for ever. `unchanged`: how many answers were the same.
 */
export function isSettled({ deliveries }: DeliveryPage, unchanged: number): boolean {
  const known = new Map<string, Set<string>>();
  for (const { topic, applied } of deliveries) {
    known.set(topic, new Set([...(known.get(topic) ?? []), ...applied]));
  }
  return deliveries.every(({ state, topic, applied }) => {
    if (state !== 'published') return state === 'dead';
    const consumers = known.get(topic)?.size ?? 0;
    return unchanged >= MOST_PATIENCE || (consumers > 0 && applied.length === consumers);
  });
}

/** An asker that knows how many of its answers were the same. */
export function createDeliveryPoll(read: (signal: AbortSignal) => Promise<DeliveryPage>): {
  readonly ask: (signal: AbortSignal) => Promise<DeliveryPage>;
  readonly isEnough: (page: DeliveryPage) => boolean;
} {
  let before = '';
  let unchanged = 0;
  return {
    async ask(signal) {
      const page = await read(signal);
      const text = JSON.stringify(page);
      unchanged = text === before ? unchanged + 1 : 0;
      before = text;
      return page;
    },
    isEnough: (page) => isSettled(page, unchanged),
  };
}
