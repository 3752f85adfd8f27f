/** What Postgres does for one statement, as it was done: the lines of its plan, and how many pages it touched. */
import type { Sql, Statements } from '../../src/db/postgres.ts';

/** Of the first statement that `run` sends; it gets no rows. */
export async function explained(
  sql: Sql,
  run: (sql: Statements) => Promise<unknown>,
): Promise<{ lines: string; pages: number }> {
  let lines = '';
  const explaining = ((strings: TemplateStringsArray, ...values: never[]) => {
    const [first = '', ...rest] = strings;
    // A part of a statement stays one.
    if (!/^\s*(?:with|select|insert|update|delete)\b/.test(first)) return sql(strings, ...values);
    const text = [`explain (analyze, buffers, timing off, summary off) ${first}`, ...rest];
    const raw = Object.assign(text, { raw: text }) as unknown as TemplateStringsArray;
    return sql<{ 'QUERY PLAN': string }[]>(raw, ...values).then((plan) => {
      lines = plan.map((row) => row['QUERY PLAN']).join('\n');
      return [];
    });
  }) as unknown as Statements;
  await run(explaining);
  const touched = /Buffers: shared hit=(\d+)(?: read=(\d+))?/.exec(lines);
  return { lines, pages: Number(touched?.[1]) + Number(touched?.[2] ?? 0) };
}
