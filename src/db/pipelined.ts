/** A transaction in as many round trips as it has steps: BEGIN goes with the first statements, and COMMIT with the last. */
import { isDisconnected } from './postgres.ts';
import type { Sql, Statements, TransactionSql } from './postgres.ts';
import { guarded } from './transaction-guard.ts';

/**
 * For work that waits for nothing but its own statements: what comes next is sent in the turn of the event loop that brought the answer,
 * so the connection cannot have been lost in between, and nothing is written to one that is gone (`transaction` is for other work).
 * `commit` sends the COMMIT behind what was sent before it, and nothing may follow; if one of those is refused, it is a ROLLBACK, and
 * they tell. READ COMMITTED, as with `transaction`.
 */
export async function pipelined<T>(sql: Sql, work: (tx: Statements, commit: () => void) => Promise<T>): Promise<T> {
  const connection = await sql.reserve();
  let failure: { readonly thrown: unknown } | undefined;
  const isLost = (): boolean => isDisconnected(failure?.thrown);
  // The first failure is told, or else that the connection was lost.
  const failed = (thrown: unknown): void => {
    if (failure === undefined || (isDisconnected(thrown) && !isLost())) failure = { thrown };
  };
  const send = (text: string): Promise<unknown> => connection.unsafe(text).catch(failed);
  let ended: Promise<unknown> | undefined;
  // Behind all that this turn of the microtasks sends: the driver sends a statement some of them after somebody waits for it.
  const commit = (): void => process.nextTick(() => (isLost() ? undefined : (ended ??= send('commit'))));

  void send('begin isolation level read committed');
  const inScope = guarded(
    (tx) => work(tx, commit),
    failed,
    () => ended !== undefined || isLost(),
  );
  const result = await inScope(connection as unknown as TransactionSql).catch(failed);
  // Answers come in order: behind this one nothing is on its way.
  if (!isLost()) await (ended ??= send(failure === undefined ? 'commit' : 'rollback'));
  // One that was lost takes nothing more; its client is replaced (`pool`).
  if (!isLost()) connection.release();
  if (failure !== undefined) throw failure.thrown;
  return result as T;
}
