/** The table of revocations on a connection of its own, which nothing else keeps waiting. */
import { accessLimits } from '../base/access-limits.ts';
import type { Log } from '../base/log.ts';
import { createPool } from '../db/pool.ts';
import { forgetRevocations, readRevocations, revoke } from './revocation-row.ts';
import type { RevocationStore } from './revocations.ts';

export interface PostgresRevocationsOptions {
  readonly url: string;
  readonly prepare: boolean;
  readonly log: Log;
}

export function postgresRevocations(options: PostgresRevocationsOptions): RevocationStore {
  const pool = (name: string, deadlineMs: number) =>
    createPool({
      ...options,
      name: `ledgerline ${name}`,
      connections: accessLimits.revocationConnections,
      deadlineMs,
      // Walks along the indexes, whatever a young table's statistics speak for.
      settings: { enable_seqscan: 'off' },
    });
  const looking = pool('revocations', accessLimits.revocationDeadlineMs);
  const writing = pool('revoke', accessLimits.revocationDeadlineMs * 5);
  return {
    read: (place) => looking.run('reading revocations', (sql) => readRevocations(sql, place)),
    revoke: (order) => writing.run('revoking', (sql) => revoke(sql, order)),
    forget: () => writing.run('forgetting revocations', (sql) => forgetRevocations(sql)),
    close: async () => void (await Promise.all([looking.close(1_000), writing.close(1_000)])),
  };
}
