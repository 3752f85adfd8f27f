/** The books of a run: refunds, journal, outbox and entries, as they stand at one moment. */
import { deliveryLimits } from '../base/delivery-limits.ts';
import { transaction } from '../db/postgres.ts';
import type { Sql, Statements } from '../db/postgres.ts';
import { readEntries, readRefunds } from '../example/books.ts';
import type { Books, JournalRow, OutboxRow } from '../lab/crash-lab.ts';
import { listSession } from '../outbox/session-deliveries.ts';
import type { SessionDelivery } from '../outbox/session-deliveries.ts';
import { readSteps } from '../step/step-row.ts';
import type { JournaledStep } from '../step/step.ts';
import { readTurn } from '../turn/turn-row.ts';

type ReadBooks = Omit<Books, 'modelCalls'>;

/** One snapshot for all of them: between two of these reads a process may write. */
export const readBooks = (sql: Sql, session: string, turn: string | undefined): Promise<ReadBooks> =>
  transaction(sql, (tx) => readAll(tx, session, turn), 'repeatable read');

async function readAll(tx: Statements, session: string, turn: string | undefined): Promise<ReadBooks> {
  const refunds = await readRefunds(tx);
  const { deliveries } = await listSession(tx, session, { limit: deliveryLimits.deliveriesPerList });
  const entries = await readEntries(tx);
  const outbox = deliveries.toReversed().map(toOutboxRow);
  if (turn === undefined) return { refunds, journal: [], outbox, entries, turn: 'queued' };
  const journal = (await readSteps(tx, session, turn)).map(toJournalRow);
  const row = await readTurn(tx, session, turn);
  return { refunds, journal, outbox, entries, turn: row?.status ?? 'queued' };
}

const toJournalRow = ({ index, kind, tool, effect, state, fence }: JournaledStep): JournalRow => ({
  index,
  kind,
  tool,
  effect,
  state,
  attempt: fence,
});

const toOutboxRow = ({ outboxSequence: number, topic, state, step }: SessionDelivery): OutboxRow => ({
  number,
  topic,
  state,
  step,
});
