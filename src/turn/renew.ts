/** Leases go on, those of all turns of a worker at once: a head that somebody holds keeps none of the others waiting [I9]. */
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { Pool } from '../db/pool.ts';
import { readOwners, renewHeads } from '../ledger/turn-lease.ts';
import { steered } from './steer.ts';
import type { Attempt, Renewed } from './turns.ts';

/** Heads are held for moments, so one is looked for again before it is told of. */
const LOOKS = 3;

export interface RenewOptions {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly leaseMs: number;
}

export async function renew(
  { pool, clock, leaseMs }: RenewOptions,
  attempts: readonly Attempt[],
): Promise<readonly Renewed[]> {
  const owners: Omit<Renewed, 'hasSteering'>[] = [];
  let left = attempts;
  for (let look = 1; left.length > 0; look += 1) {
    const asked = left;
    const renewed = await pool.run('renewing leases', (sql) => renewHeads(sql, asked, leaseMs));
    owners.push(...renewed.map((owner) => ({ ...owner, isExtended: true })));
    const done = new Set(renewed.map(keyOf));
    const rest = asked.filter((attempt) => !done.has(keyOf(attempt)));
    if (rest.length === 0) break;
    const held = await pool.run('looking for held heads', (sql) => readOwners(sql, rest));
    if (look === LOOKS) owners.push(...held.map((owner) => ({ ...owner, isExtended: false })));
    if (look === LOOKS || held.length === 0) break;
    left = held;
    await new Promise<void>((resolve) => clock.after(limits.claimAgainMs, resolve));
  }
  const sessions = owners.map(({ session }) => session);
  const joinable = await pool.run('looking for steering', (sql) => steered(sql, sessions));
  return owners.map((owner) => ({ ...owner, hasSteering: joinable.has(owner.session) }));
}

const keyOf = ({ session, turn, attempt }: Attempt): string => `${session}/${turn}/${attempt}`;
