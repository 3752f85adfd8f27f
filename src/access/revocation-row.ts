/** The table of revocations: written one at a time, so that whoever reads on from a number misses none. */
import { accessLimits } from '../base/access-limits.ts';
import { LedgerlineError } from '../base/errors.ts';
import { transaction } from '../db/postgres.ts';
import type { Sql, Statements } from '../db/postgres.ts';
import { storable } from '../event/storable.ts';
import type { Revocation, RevocationKind } from './revocation-set.ts';

/** Arbitrary and for ever: what those who revoke wait for each other on. */
const LOCK = 4_743_129_118;

export interface RevocationOrder {
  readonly kind: RevocationKind;
  readonly value: string;
  /** By the wall clock; left out: longer than any token. */
  readonly untilMs?: number;
}

/** How far a gateway has read. The time tells a row from another with its number, in a database that was restored. */
export interface RevocationPlace {
  readonly number: number;
  readonly revokedAtMs: number;
}

export interface RevocationPage {
  readonly revocations: readonly Revocation[];
  readonly place: RevocationPlace | undefined;
  /** False when what the reader had read last is there no more: it must begin anew. */
  readonly isContinuous: boolean;
  readonly isLast: boolean;
}

interface Row {
  readonly number: number;
  readonly kind: RevocationKind;
  readonly value: string;
  readonly revoked_ms: number;
  readonly expires_ms: number;
}

const toRevocation = ({ kind, value, revoked_ms, expires_ms }: Row): Revocation => ({
  kind,
  value,
  revokedAtMs: revoked_ms,
  untilMs: expires_ms,
});

/** Milliseconds, rounded up: no token that was issued before the revocation may pass for one issued after it. */
const columns = (sql: Statements) => sql`
  number, kind, value, ceil(extract(epoch from revoked_at) * 1000)::bigint as revoked_ms,
  ceil(extract(epoch from expires_at) * 1000)::bigint as expires_ms`;

/** The lock is let go behind the commit, so that numbers appear in their order. */
export function revoke(sql: Sql, { kind, value: text, untilMs }: RevocationOrder): Promise<Revocation> {
  const value = storable(text);
  return transaction(sql, async (tx) => {
    await tx`select pg_advisory_xact_lock(${LOCK}::bigint)`;
    const [row] = await tx<Row[]>`
      insert into ledgerline.revocation as r (number, revoked_at, expires_at, kind, value)
      select coalesce(max(number), 0) + 1, clock_timestamp(),
             coalesce('epoch'::timestamptz + ${untilMs ?? null}::bigint * interval '1 millisecond',
                      clock_timestamp() + ${accessLimits.revocationMs}::bigint * interval '1 millisecond'),
             ${kind}::text, ${value}::text
        from ledgerline.revocation
      having (select count(*) from ledgerline.revocation where expires_at > clock_timestamp()) < ${accessLimits.revocations}::bigint
          or exists (select from ledgerline.revocation where kind = ${kind}::text and value = ${value}::text)
      on conflict (kind, value) do update
         set number = excluded.number, revoked_at = excluded.revoked_at, expires_at = greatest(r.expires_at, excluded.expires_at)
      returning ${columns(tx)}`;
    if (row !== undefined) return toRevocation(row);
    throw new LedgerlineError('too_large', 'as many revocations hold as the gateways keep in memory; revoke by sub', {
      limit: 'revocations',
      max: accessLimits.revocations,
    });
  });
}

/** What was revoked behind `place`, from the lowest number. */
export async function readRevocations(sql: Statements, place: RevocationPlace | undefined): Promise<RevocationPage> {
  const limit = accessLimits.revocationRows;
  const rows = await sql<Row[]>`
    select ${columns(sql)} from ledgerline.revocation
     where number >= ${place?.number ?? 0}::bigint and (expires_at > clock_timestamp() or number = ${place?.number ?? 0}::bigint)
     order by number limit ${limit}::int`;
  const [first] = rows;
  const last = rows.at(-1);
  const isContinuous =
    place === undefined || (first?.number === place.number && first.revoked_ms === place.revokedAtMs);
  return {
    revocations: rows.map(toRevocation),
    place: last && { number: last.number, revokedAtMs: last.revoked_ms },
    isContinuous,
    isLast: rows.length < limit,
  };
}

/** Removes some of what is over. */
export async function forgetRevocations(sql: Statements): Promise<void> {
  await sql`
    delete from ledgerline.revocation
     where number in (select number from ledgerline.revocation where expires_at <= clock_timestamp()
                       order by expires_at limit ${accessLimits.revocationRows}::int)`;
}
