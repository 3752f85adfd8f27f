/** What may be done with a session, as the floors above see it: the ledger, and a broadcast for whatever readers must hear of. */
import type { Bus } from '../bus/bus.ts';
import type { AppendRequest, Head, Ledger, Outcome } from '../ledger/ledger.ts';
import { append, broadcast } from './append.ts';
import type { AppendDependencies } from './append.ts';

export type Sessions = Pick<
  Ledger,
  'append' | 'create' | 'describe' | 'close' | 'delete' | 'history' | 'list' | 'markRead' | 'producer'
>;

export interface SessionsOptions extends Omit<AppendDependencies, 'ledger' | 'bus'> {
  readonly ledger: Ledger;
  readonly bus: Bus;
}

export function createSessions(options: SessionsOptions): Sessions {
  const { ledger } = options;

  /** Readers end by what the head says, so they are told to read it; as with events, only once it is committed [I4]. */
  function told(session: string, head: Head | undefined): Head | undefined {
    if (head !== undefined) broadcast(options, session, () => ({ kind: 'head' }));
    return head;
  }

  return {
    append: (request: AppendRequest): Promise<Outcome> => append(options, request),
    create: (session, creation) => ledger.create(session, creation),
    describe: (session) => ledger.describe(session),
    history: (session, range) => ledger.history(session, range),
    list: (filter, range, subject) => ledger.list(filter, range, subject),
    markRead: (session, subject, sequence) => ledger.markRead(session, subject, sequence),
    producer: (session, producer) => ledger.producer(session, producer),
    close: async (session) => told(session, await ledger.close(session)),
    delete: async (session) => told(session, await ledger.delete(session)),
  };
}
