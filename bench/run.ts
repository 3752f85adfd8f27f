/** `npm run bench [-- NAME] [--quick]`: runs the measurements with progress and writes what was seen to bench/RESULTS.md. */
import { readFile, writeFile } from 'node:fs/promises';
import { cpus, loadavg } from 'node:os';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import * as commitGroup from './commit-group.ts';
import * as deliveries from './deliveries.ts';
import * as fanOut from './fan-out.ts';
import type { Report } from './report.ts';
import * as replay from './replay.ts';
import * as steps from './steps.ts';
import * as turns from './turns.ts';

const benches: Record<string, (options: { quick: boolean }) => Promise<Report>> = {
  'commit-group': commitGroup.run,
  deliveries: deliveries.run,
  'fan-out': fanOut.run,
  replay: replay.run,
  steps: steps.run,
  turns: turns.run,
};

const results = fileURLToPath(new URL('RESULTS.md', import.meta.url));

function table(rows: Report['rows']): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const line = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`;
  return [
    line(columns),
    line(columns.map(() => '---')),
    ...rows.map((row) => line(columns.map((c) => row[c] ?? ''))),
  ].join('\n');
}

/** A section of the results file, between its own two marks, so that one bench can be repeated without the others. */
function section(name: string, report: Report, quick: boolean): string {
  const when = new Date().toISOString().slice(0, 10);
  const machine = `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, Node ${process.version}`;
  const how = `${quick ? 'a quick run' : 'a full run'} that ended at a load of ${loadavg()[0]?.toFixed(1) ?? 'unknown'}`;
  return `<!-- ${name} -->\n## ${report.name}\n\n${report.method}\n\n${table(report.rows)}\n\n${when}, ${how}, ${machine}\n<!-- /${name} -->`;
}

async function record(name: string, text: string): Promise<void> {
  const before = await readFile(results, 'utf8');
  const mark = new RegExp(`<!-- ${name} -->[^]*<!-- /${name} -->`);
  // A function, since a replacement text has its own meaning for `$`.
  const after = mark.test(before) ? before.replace(mark, () => text) : `${before.trimEnd()}\n\n${text}\n`;
  await writeFile(results, after);
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean', default: false }, help: { type: 'boolean', short: 'h', default: false } },
});
const names = positionals.length > 0 ? positionals : Object.keys(benches);
const unknown = names.find((name) => benches[name] === undefined);
if (values.help || unknown !== undefined) {
  if (unknown !== undefined) console.error(`There is no bench "${unknown}".`);
  console.error(`Usage: npm run bench [-- NAME…] [-- --quick]\nNames: ${Object.keys(benches).join(', ')}`);
  process.exit(unknown === undefined ? 0 : 2);
}
for (const [index, name] of names.entries()) {
  console.error(`${index + 1} of ${names.length}: ${name}${values.quick ? ', quick' : ''} …`);
  const report = await (benches[name] as (typeof benches)[string])({ quick: values.quick });
  console.log(`\n${report.name}\n\n${table(report.rows)}\n`);
  await record(name, section(name, report, values.quick));
}
console.error(`Written to bench/${basename(results)}.`);
