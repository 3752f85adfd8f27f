/** A session's work as the page shows it: the newest turn's journal out of its events, and its deliveries, asked for. */
import { useEffect, useMemo, useState } from 'react';
import type { SessionEvent } from '../../src/session-event.ts';
import type { SessionSnapshot } from '../../src/session-view.ts';
import { usePoll } from '../base/use-poll.ts';
import type { Polled } from '../base/use-poll.ts';
import { createDeliveryPoll, readDeliveries } from './delivery-list.ts';
import type { DeliveryPage } from './delivery-list.ts';
import { newestRows, noWork, workOf } from './journal.ts';
import type { JournalRow, Work } from './journal.ts';

export interface UsedWork {
  readonly rows: readonly JournalRow[];
  readonly deliveries: Polled<DeliveryPage>;
}

const POLL_MS = 1_000;

export function useWork(session: string, { events, hasOlder, reset }: SessionSnapshot): UsedWork {
  const [fold] = useState(createFold);
  const work = useMemo(() => fold(events, reset), [fold, events, reset]);
  const rows = useMemo(() => newestRows(work), [work]);
  const { delivered } = work;
  // Of a session that is here from its first event, and whose events tell of none, there is nothing to ask.
  const isAsked = delivered > 0 || hasOlder;
  const { ask, isEnough } = useMemo(() => createDeliveryPoll((signal) => readDeliveries(session, signal)), [session]);
  const { value, error, refresh } = usePoll(isAsked ? ask : undefined, POLL_MS, isEnough);
  useEffect(() => {
    if (delivered > 0) refresh();
  }, [delivered, refresh]);
  return { rows, deliveries: { value, error } };
}

/** It goes on from what it folded last, unless the session is another since: `era` changes then. */
function createFold(): (events: readonly SessionEvent[], era: unknown) => Work {
  let known: { readonly work: Work; readonly era: unknown } = { work: noWork, era: undefined };
  return (events, era) => {
    known = { work: workOf(known.era === era ? known.work : noWork, events), era };
    return known.work;
  };
}
