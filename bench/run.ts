/** `npm run bench [-- NAME…] [--quick]`: does the measurements one after another, and writes what was seen to bench/RESULTS.md. */
import { spawnSync } from 'node:child_process';
import { loadavg, tmpdir } from 'node:os';
import { parseArgs } from 'node:util';
import { about, benches, deadlineMs, secondsOf } from './benches.ts';
import type { Pace } from './benches.ts';
import { runCase } from './case.ts';
import { keep, writeDocuments } from './results-files.ts';
import { reportText } from './results.ts';
import { absences } from './services/absent.ts';
import { machine, versions } from './services/versions.ts';
import { processorTime, stolenBetween } from './stolen.ts';

const usage = `Usage: npm run bench [-- NAME… --quick]

Measures, and writes what was seen to bench/RESULTS.md and docs/PERFORMANCE.md. Without a name it measures
everything, one after another; what the machine lacks for it is named and left out.

  --quick   fewer rounds of less: ${about(secondsOf(Object.keys(benches), 'quick'))} in all instead of ${about(secondsOf(Object.keys(benches), 'full'))}, on two cores that do nothing else
  --tables  measures nothing; writes the tables anew from the results that are there
  --help    this

${Object.entries(benches)
  .map(([name, { asks }]) => `  ${name.padEnd(18)}${asks}`)
  .join('\n')}

The exit code is 1 when a measurement failed; a target that is missed is no failure. Ctrl-C ends all that was started.`;

interface Asked {
  readonly names: readonly string[];
  readonly pace: Pace;
}

/** Undefined when there is nothing to measure. */
async function asked(): Promise<Asked | undefined> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      tables: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const unknown = positionals.find((name) => !Object.hasOwn(benches, name));
  if (unknown !== undefined) throw new Error(`There is no bench "${unknown}". --help lists them.`);
  if (values.help) console.log(usage);
  else if (values.tables) await writeDocuments();
  else
    return {
      names: positionals.length > 0 ? positionals : Object.keys(benches),
      pace: values.quick ? 'quick' : 'full',
    };
  return undefined;
}

/** What is measured by its CPU is what is shipped. */
function build(): void {
  const { status } = spawnSync('npm', ['run', '--silent', 'build:server'], {
    // Figures go to standard output.
    stdio: ['ignore', process.stderr, process.stderr],
  });
  if (status !== 0) throw new Error('The server could not be built.');
}

/** Resolves with the exit code. */
async function measure({ names, pace }: Asked): Promise<number> {
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      console.error('Ending what was started …');
      stopping.abort();
    });
  }
  build();
  for (const absence of await absences()) console.error(`Left out where it can be: ${absence}.`);
  const place = { machine: machine(), versions: await versions() };
  const failed: string[] = [];
  for (const [index, name] of names.entries()) {
    const left = about(secondsOf(names.slice(index), pace));
    console.error(
      `${index + 1} of ${names.length}: ${name}, ${benches[name]?.asks}; ` +
        `about ${about(secondsOf([name], pace))}${index + 1 < names.length ? `, ${left} with the rest` : ''} …`,
    );
    const [before = 0, startedMs] = [loadavg()[0], performance.now()];
    const processors = processorTime();
    const told = await runCase({
      name,
      pace,
      deadlineMs: deadlineMs(name, pace),
      within: tmpdir(),
      signal: stopping.signal,
    });
    if (told === undefined) return 130;
    const seconds = (performance.now() - startedMs) / 1_000;
    if ('failure' in told) {
      failed.push(name);
      console.error(`${name} failed: ${told.failure}`);
    } else console.log(`\n${reportText(told.report)}\n`);
    const when = new Date().toISOString().slice(0, 10);
    const stolen = stolenBetween(processors, processorTime());
    const load = [before, loadavg()[0] ?? 0] as const;
    await keep(name, { when, pace, seconds, load, ...(stolen === undefined ? {} : { stolen }), ...place, ...told });
    console.error(`${name} took ${about(seconds)}.`);
  }
  console.error(`Written to bench/RESULTS.md.${failed.length > 0 ? ` Failed: ${failed.join(', ')}.` : ''}`);
  return failed.length > 0 ? 1 : 0;
}

try {
  const what = await asked();
  if (what !== undefined) process.exitCode = await measure(what);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
}
