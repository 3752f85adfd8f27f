/** The rows of relays and of their shards: who is there, and who publishes what, until when, by the database's clock. */
import type { Statements } from '../db/postgres.ts';
import { SHARDS } from './add.ts';

const until = (sql: Statements, leaseMs: number) => sql`clock_timestamp() + ${leaseMs}::int * interval '1 millisecond'`;

/** Says that this relay is there; how many shards it should have, so that every other has as many. */
export async function fairShare(sql: Statements, relay: string, leaseMs: number): Promise<number> {
  await sql`
    insert into ledgerline.relay (relay_id, alive_until) values (${relay}::text, ${until(sql, leaseMs)})
        on conflict (relay_id) do update set alive_until = excluded.alive_until`;
  const [alive] = await sql<{ relays: number }[]>`
    select count(*) as relays from ledgerline.relay r where r.alive_until > clock_timestamp()`;
  return Math.ceil(SHARDS / Math.max(1, alive?.relays ?? 1));
}

/** Those that died without saying so. */
export async function forgetRelays(sql: Statements): Promise<void> {
  await sql`
    delete from ledgerline.relay
     where relay_id in (select r.relay_id from ledgerline.relay r where r.alive_until < clock_timestamp() for update skip locked)`;
}

/**
 * Time plays no part: a lease that is over and that nobody has taken goes on. What is beyond the share is nobody's from here on, and
 * to be had when its lease is over, for what this relay has on its way there must have arrived.
 */
export async function renewShards(
  sql: Statements,
  relay: string,
  leaseMs: number,
  share: number,
): Promise<{ readonly kept: number[]; readonly givenUp: number[] }> {
  const rows = await sql<{ shard: number; is_kept: boolean }[]>`
    with own as materialized (
      select s.shard, row_number() over (order by s.shard) <= ${share}::int as is_kept
        from ledgerline.relay_shard s where s.relay_id = ${relay}::text
    )
    update ledgerline.relay_shard s
       set relay_id = case when own.is_kept then s.relay_id end,
           lease_until = case when own.is_kept then ${until(sql, leaseMs)} else s.lease_until end
      from own where s.shard = own.shard and s.relay_id = ${relay}::text
    returning s.shard, own.is_kept`;
  const shards = (isKept: boolean) => rows.filter((row) => row.is_kept === isKept).map((row) => row.shard);
  return { kept: shards(true), givenUp: shards(false) };
}

export async function takeShards(sql: Statements, relay: string, leaseMs: number, most: number): Promise<number[]> {
  const rows = await sql<{ shard: number }[]>`
    with free as materialized (
      select s.shard from ledgerline.relay_shard s
       where s.relay_id is distinct from ${relay}::text and coalesce(s.lease_until < clock_timestamp(), true)
       order by s.shard limit ${most}::int for update skip locked
    )
    update ledgerline.relay_shard s
       set relay_id = ${relay}::text, fence = s.fence + 1, lease_until = ${until(sql, leaseMs)}
      from free where s.shard = free.shard returning s.shard`;
  return rows.map((row) => row.shard);
}

/** All of them, by a relay that has nothing on its way any more, and is gone. */
export async function giveUpShards(sql: Statements, relay: string): Promise<void> {
  await sql`delete from ledgerline.relay where relay_id = ${relay}::text`;
  await sql`update ledgerline.relay_shard set relay_id = null, lease_until = null where relay_id = ${relay}::text`;
}
