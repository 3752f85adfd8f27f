/** The results file: a section for each measurement between its own two marks, so that one can be repeated without the others. */
import { readFile, writeFile } from 'node:fs/promises';
import { cpus, loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { isMet, rounded } from './report.ts';
import type { Report, Row, Target } from './report.ts';

const results = fileURLToPath(new URL('RESULTS.md', import.meta.url));

function table(rows: readonly Row[]): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const line = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`;
  return [
    line(columns),
    line(columns.map(() => '---')),
    ...rows.map((row) => line(columns.map((column) => row[column] ?? ''))),
  ].join('\n');
}

const verdicts = (targets: readonly Target[]): string =>
  table(
    targets.map((target) => ({
      target: target.what,
      seen: rounded(target.seen),
      '': isMet(target) ? 'met' : 'missed',
    })),
  );

/** What is told of a measurement, on the terminal and in the file. */
export function reportText({ name, method, rows, targets = [], leftOut = [] }: Report): string {
  const left = leftOut.map((sentence) => `Not measured: ${sentence}.`);
  const parts = [`## ${name}`, method, table(rows), ...(targets.length > 0 ? [verdicts(targets)] : []), ...left];
  return parts.join('\n\n');
}

export async function record(name: string, report: Report, quick: boolean): Promise<void> {
  const when = new Date().toISOString().slice(0, 10);
  const machine = `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, Node ${process.version}`;
  const how = `${quick ? 'a quick run' : 'a full run'} that ended at a load of ${loadavg()[0]?.toFixed(1) ?? 'unknown'}`;
  const text = `<!-- ${name} -->\n${reportText(report)}\n\n${when}, ${how}, ${machine}\n<!-- /${name} -->`;
  const before = await readFile(results, 'utf8');
  const mark = new RegExp(`<!-- ${name} -->[^]*<!-- /${name} -->`);
  // A function, since a replacement text has its own meaning for `$`.
  const after = mark.test(before) ? before.replace(mark, () => text) : `${before.trimEnd()}\n\n${text}\n`;
  await writeFile(results, after);
}
