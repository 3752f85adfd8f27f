/** The schema as the catalog holds it, in one text that a change of it changes; and what in it lacks its reason. */
import type { Sql, TransactionSql } from '../../src/db/postgres.ts';

interface Line {
  readonly text: string;
  readonly comment?: string | null;
}

/** A line of a table's body under its reason. */
const explained = ({ text, comment }: Line): string =>
  typeof comment === 'string' ? `  -- ${comment}\n  ${text.trimEnd()}` : `  ${text.trimEnd()}`;

/** Tables with their columns, constraints and indexes, then functions by name; each with its comment. */
export async function schemaText(pool: Sql): Promise<string> {
  return pool.begin(async (sql) => {
    // The catalog leaves out the name of a schema that is searched anyway, and a user's own name may be ledgerline.
    await sql`set local search_path = ''`;
    return describe(sql);
  });
}

async function describe(sql: TransactionSql): Promise<string> {
  const tables = await sql<{ oid: string; name: string; options: string | null; comment: string | null }[]>`
    select c.oid::text, c.oid::regclass::text as name, array_to_string(c.reloptions, ', ') as options,
           obj_description(c.oid, 'pg_class') as comment
      from pg_class c where c.relnamespace = 'ledgerline'::regnamespace and c.relkind = 'r' order by c.relname`;
  const parts: string[] = [];
  for (const table of tables) {
    const columns = await sql<Line[]>`
      select a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
             || case when a.attcollation <> t.typcollation then ' collate ' || quote_ident(k.collname) else '' end
             || case when a.attnotnull then ' not null' else '' end
             || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '') as text,
             col_description(a.attrelid, a.attnum) as comment
        from pg_attribute a
        join pg_type t on t.oid = a.atttypid
        left join pg_collation k on k.oid = a.attcollation
        left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
       where a.attrelid = ${table.oid}::text::oid and a.attnum > 0 and not a.attisdropped order by a.attnum`;
    const constraints = await sql<Line[]>`
      select 'constraint ' || c.conname || ' ' || pg_get_constraintdef(c.oid) as text,
             obj_description(c.oid, 'pg_constraint') as comment
        from pg_constraint c where c.conrelid = ${table.oid}::text::oid and c.contype <> 'n' order by c.contype = 'p' desc, c.conname`;
    const indexes = await sql<Line[]>`
      select '-- ' || obj_description(i.indexrelid, 'pg_class') || E'\n' || pg_get_indexdef(i.indexrelid) || ';' as text
        from pg_index i
       where i.indrelid = ${table.oid}::text::oid
         and not exists (select from pg_constraint c where c.conindid = i.indexrelid and c.contype in ('p', 'u'))
       order by i.indexrelid::regclass::text`;
    parts.push(
      [
        `-- ${table.comment ?? ''}`,
        `create table ${table.name} (`,
        [...columns, ...constraints].map(explained).join(',\n'),
        `)${table.options === null ? '' : ` with (${table.options})`};`,
      ].join('\n'),
      ...indexes.map((line) => line.text),
    );
  }
  const functions = await sql<Line[]>`
    select '-- ' || coalesce(obj_description(p.oid, 'pg_proc'), '') || E'\n' || rtrim(pg_get_functiondef(p.oid), E'\n') || ';' as text
      from pg_proc p where p.pronamespace = 'ledgerline'::regnamespace order by p.proname`;
  parts.push(...functions.map((line) => line.text));
  return `-- What the migrations make, as the catalog tells it. Generated; do not edit.\n\ncreate schema ledgerline;\n\n${parts.join('\n\n')}\n`;
}

/** Names of tables, indexes, constraints and functions that say nothing about why they are. */
export async function unexplained(sql: Sql): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select c.oid::regclass::text as name from pg_class c
     where c.relnamespace = 'ledgerline'::regnamespace and c.relkind in ('r', 'i')
       and obj_description(c.oid, 'pg_class') is null
       and not exists (select from pg_constraint k where k.conindid = c.oid and k.contype in ('p', 'u'))
    union all
    select k.conname from pg_constraint k
     where k.connamespace = 'ledgerline'::regnamespace and k.contype <> 'n' and obj_description(k.oid, 'pg_constraint') is null
    union all
    select p.proname from pg_proc p
     where p.pronamespace = 'ledgerline'::regnamespace and obj_description(p.oid, 'pg_proc') is null`;
  return rows.map((row) => row.name);
}
