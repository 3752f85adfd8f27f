/** `npm run bench [-- NAME…] [--quick]`: runs the measurements with progress and writes what was seen to bench/RESULTS.md. */
import { execFileSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { draw } from './chart.ts';
import type { Options, Report } from './report.ts';
import { record, reportText } from './results.ts';

const cases: Record<string, () => Promise<{ run: (options: Options) => Promise<Report> }>> = {
  'append-http': () => import('./cases/append-http.ts'),
  'append-to-reader': () => import('./cases/append-to-reader.ts'),
  'commit-group': () => import('./cases/commit-group.ts'),
  deliveries: () => import('./cases/deliveries.ts'),
  'fan-out': () => import('./cases/fan-out.ts'),
  idle: () => import('./cases/idle.ts'),
  reconnect: () => import('./cases/reconnect.ts'),
  replay: () => import('./cases/replay.ts'),
  stalled: () => import('./cases/stalled.ts'),
  steps: () => import('./cases/steps.ts'),
  'stored-events': () => import('./cases/stored-events.ts'),
  'turn-queue': () => import('./cases/turn-queue.ts'),
  turns: () => import('./cases/turns.ts'),
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean', default: false }, help: { type: 'boolean', short: 'h', default: false } },
});
const names = positionals.length > 0 ? positionals : Object.keys(cases);
const unknown = names.find((name) => !Object.hasOwn(cases, name));
if (values.help || unknown !== undefined) {
  if (unknown !== undefined) console.error(`There is no bench "${unknown}".`);
  console.error(`Usage: npm run bench [-- NAME…] [-- --quick]\nNames: ${Object.keys(cases).join(', ')}`);
  process.exit(unknown === undefined ? 0 : 2);
}
// What is measured by its CPU is what is shipped.
execFileSync('npm', ['run', '--silent', 'build:server'], { stdio: ['ignore', process.stderr, process.stderr] });
for (const [index, name] of names.entries()) {
  const startedMs = performance.now();
  console.error(`${index + 1} of ${names.length}: ${name}${values.quick ? ', quick' : ''} …`);
  const { run } = await cases[name]!();
  const report = await run({ quick: values.quick });
  console.log(`\n${reportText(report)}\n`);
  await record(name, report, values.quick);
  if (report.chart !== undefined) await draw(name, report.chart);
  console.error(`${name} took ${Math.round((performance.now() - startedMs) / 1_000)} s`);
}
console.error('Written to bench/RESULTS.md.');
