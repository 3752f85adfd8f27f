/** Which shards are this relay's: a fair share, taken while they are free, kept by signs of life, and given up in the end. */
import { sleep } from '../base/clock.ts';
import type { Clock } from '../base/clock.ts';
import { toError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { detach } from '../base/service.ts';
import type { Pool } from '../db/pool.ts';
import { fairShare, forgetRelays, giveUpShards, renewShards, takeShards } from './lease-row.ts';

export interface Leases {
  /** Resolves after the first try to have some. */
  start(): Promise<void>;
  /** By our own clock, which stops before the lease does: the shards that nobody else has. */
  owned(): number[];
  isOurs(shard: number): boolean;
  /** Gives them up, for others to take at once. */
  stop(): Promise<void>;
}

export interface LeaseOptions {
  readonly pool: Pool;
  readonly relay: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly leaseMs: number;
  readonly renewMs: number;
  /** After each renewal that succeeded. */
  readonly onRenewed: () => Promise<void>;
  /** There are more shards than before. */
  readonly onTaken: () => void;
}

/** Few at a time, so that relays which start together may each have some. Whoever has none stands by. */
const SHARDS_AT_A_TIME = 2;
/** How much of a lease we use ourselves: the rest is for a publish that is on its way when it ends. */
const OWN_PART = 0.8;

export function createLeases(options: LeaseOptions): Leases {
  const { pool, relay, clock, log, leaseMs, renewMs, onRenewed, onTaken } = options;
  const stopping = new AbortController();
  let shards: readonly number[] = [];
  let endsAt = -Infinity;
  let living: Promise<void> | undefined;

  /** A renewal counts from before it was asked for. What is missing from its answer is lost. */
  async function renew(): Promise<void> {
    const askedAt = clock.now();
    const had = shards.length;
    const share = await pool.run('counting relays', (sql) => fairShare(sql, relay, leaseMs));
    const { kept, givenUp } = await pool.run('renewing a relay', (sql) => renewShards(sql, relay, leaseMs, share));
    shards = kept;
    endsAt = askedAt + leaseMs * OWN_PART;
    if (givenUp.length > 0) log.info({ shards, givenUp }, 'shards are given up, for a relay that has fewer');
    if (shards.length + givenUp.length < had) log.warn({ shards }, 'some shards are another relay’s now');
    while (shards.length < share) {
      const most = Math.min(SHARDS_AT_A_TIME, share - shards.length);
      const taken = await pool.run('taking shards', (sql) => takeShards(sql, relay, leaseMs, most));
      if (taken.length === 0) break;
      shards = [...shards, ...taken];
      onTaken();
    }
    await onRenewed();
  }

  const told = (thrown: unknown): void => log.warn({ err: toError(thrown) }, 'the relay could not be renewed');
  const tryToRenew = (): Promise<void> => renew().catch(told);

  async function live(): Promise<void> {
    while (!stopping.signal.aborted) {
      await sleep(renewMs, stopping.signal);
      if (!stopping.signal.aborted) await tryToRenew();
    }
  }

  const owned = (): number[] => (clock.now() < endsAt ? [...shards] : []);
  return {
    async start() {
      await pool.run('forgetting relays', forgetRelays).catch(told);
      await tryToRenew();
      living = live();
      detach(living, log, 'the renewal of the relay ended unexpectedly');
    },
    owned,
    isOurs: (shard) => owned().includes(shard),
    async stop() {
      stopping.abort();
      await living;
      shards = [];
      await pool
        .run('giving up shards', (sql) => giveUpShards(sql, relay))
        .catch((thrown: unknown) =>
          log.warn({ err: toError(thrown) }, 'the shards stay this relay’s until its lease is over'),
        );
    },
  };
}
