/** Who may, in a gateway without a database: a secret, rates that nobody meets, and revocations in memory. */
import { createLimiter } from '../../src/access/limiter.ts';
import type { Rates } from '../../src/access/limiter.ts';
import type { RevocationOrder, RevocationPage, RevocationPlace } from '../../src/access/revocation-row.ts';
import { RevocationSet } from '../../src/access/revocation-set.ts';
import type { Revocation } from '../../src/access/revocation-set.ts';
import type { RevocationStore, Revocations } from '../../src/access/revocations.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { Clock } from '../../src/base/clock.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import type { Metrics } from '../../src/base/metrics.ts';
import type { AccessOptions } from '../../src/http/access.ts';
import type { CookieRules } from '../../src/http/cookie.ts';

export const generousRates: Rates = {
  sessionEvents: 1_000_000,
  sessionBytes: 1_000_000_000,
  tokenWrites: 1_000_000,
  sessionStreams: 100_000,
  tokenStreams: 100_000,
};

export interface StubAccess {
  readonly secret: string;
  readonly internalKey: string;
  readonly allowedOrigins: readonly string[];
  readonly metrics: Metrics;
  readonly rates: Partial<Rates>;
  readonly cookies: CookieRules;
  readonly revocations: Revocations;
  readonly clock: Clock;
  readonly findKey: NonNullable<AccessOptions['findKey']>;
}

export function stubAccess(options: Partial<StubAccess> & Pick<StubAccess, 'secret' | 'internalKey'>): AccessOptions {
  const { clock = systemClock, metrics = createMetrics() } = options;
  const secret = new TextEncoder().encode(options.secret);
  return {
    secrets: [secret],
    ticketSecrets: [secret],
    findKey: options.findKey,
    cookies: options.cookies ?? { isSecure: true, isCrossSite: false },
    internalKey: options.internalKey,
    allowedOrigins: options.allowedOrigins ?? [],
    revocations: options.revocations ?? revocationsIn(new RevocationSet(), clock),
    limiter: createLimiter({ rates: { ...generousRates, ...options.rates }, clock, metrics }),
  };
}

/** Acts on what is revoked at once, and cuts nobody. */
function revocationsIn(set: RevocationSet, clock: Clock): Revocations {
  return {
    isRevoked: (identity) => set.covers(identity),
    isRevokedIn: (identity, session) => set.coversIn(identity, session),
    watch: () => () => undefined,
    revoke({ kind, value, untilMs = clock.wall() + 60_000 }) {
      const revocation = { kind, value, revokedAtMs: clock.wall(), untilMs };
      set.add(revocation);
      return Promise.resolve(revocation);
    },
  };
}

export interface MemoryRevocations extends RevocationStore {
  /** Postgres goes, or comes back. */
  isAway: boolean;
  /** Looks so far. */
  readonly reads: number;
  /** The database is another one, or an older one. */
  restore(rows: readonly RevocationOrder[]): void;
}

/** The table without Postgres: pages of so many rows. */
export function memoryRevocations(clock: Clock, pageRows = 2): MemoryRevocations {
  let rows: (Revocation & { number: number })[] = [];
  let reads = 0;
  const insert = ({ kind, value, untilMs = clock.wall() + 3_600_000 }: RevocationOrder): Revocation => {
    rows = rows.filter((row) => row.kind !== kind || row.value !== value);
    const row = { number: (rows.at(-1)?.number ?? 0) + 1, kind, value, revokedAtMs: clock.wall(), untilMs };
    rows.push(row);
    return row;
  };
  const answer = <T>(work: () => T): Promise<T> =>
    store.isAway ? Promise.reject(new Error('Postgres is away')) : Promise.resolve(work());
  function read(place: RevocationPlace | undefined): RevocationPage {
    const page = rows.filter(({ number }) => number >= (place?.number ?? 0)).slice(0, pageRows);
    const [first] = page;
    const last = page.at(-1);
    return {
      revocations: page,
      place: last && { number: last.number, revokedAtMs: last.revokedAtMs },
      isContinuous: place === undefined || (first?.number === place.number && first.revokedAtMs === place.revokedAtMs),
      isLast: page.length < pageRows,
    };
  }
  const store: MemoryRevocations = {
    isAway: false,
    get reads() {
      return reads;
    },
    restore(orders) {
      rows = [];
      for (const order of orders) insert(order);
    },
    revoke: (order) => answer(() => insert(order)),
    read: (place) => answer(() => (reads++, read(place))),
    forget: () => answer(() => undefined),
    close: () => Promise.resolve(),
  };
  return store;
}
