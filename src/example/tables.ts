/** The worked example's own tables, brought up to this release in the way of Ledgerline's, and apart from them. */
import type { Log } from '../base/log.ts';
import { migrate } from '../db/migrate.ts';
import type { Reach } from '../db/migrate.ts';

/** The same place beside `src/` and beside `dist/`. */
const tables = { folder: new URL('../../sql/example/', import.meta.url), schema: 'example' } as const;

export const migrateExample = (url: string, log: Log, reach: Reach = {}): Promise<{ from: number; to: number }> =>
  migrate(url, log, reach, tables);
