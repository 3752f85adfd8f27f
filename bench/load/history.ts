/** Sessions with a past, written through the ledger. */
import { systemClock } from '../../src/base/clock.ts';
import { limits } from '../../src/base/limits.ts';
import { silentLog } from '../../src/base/log.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import { createLedger } from '../../src/ledger/postgres-ledger.ts';
import type { PostgresLedger } from '../../src/ledger/postgres-ledger.ts';
import { sessionWork } from '../../src/turn/session-work.ts';
import { stampedData } from '../peers/payload.ts';

export async function withLedger<T>(url: string, work: (ledger: PostgresLedger) => Promise<T>): Promise<T> {
  const ledger = createLedger({ url, log: silentLog, metrics: createMetrics(), clock: systemClock, work: sessionWork });
  await ledger.start();
  try {
    return await work(ledger);
  } finally {
    await ledger.stop();
  }
}

/** `events` in each session, of `data`. */
export async function fill(
  ledger: PostgresLedger,
  sessions: readonly string[],
  events: number,
  data = stampedData(),
): Promise<void> {
  const event = { type: 'text.delta', data, bytes: Buffer.byteLength(data) };
  const batch = (size: number) => ({ events: Array.from({ length: size }, () => event) });
  let next = 0;
  const line = async (): Promise<void> => {
    for (let session = sessions[next++]; session !== undefined; session = sessions[next++]) {
      await ledger.create(session, {});
      for (let left = events; left > 0; left -= limits.eventsPerAppend) {
        await ledger.append({ session, ...batch(Math.min(left, limits.eventsPerAppend)) });
      }
    }
  };
  await Promise.all(Array.from({ length: 16 }, line));
}
