/** Where results are kept, bench/results.json, and every document and picture that is made of them. */
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { benches } from './benches.ts';
import { draw } from './chart.ts';
import { withPart } from './marked.ts';
import { reasons } from './reasons.ts';
import { placesOf, resultsFrom, sectionOf, targetsOf } from './results.ts';
import type { Outcome, Results } from './results.ts';

const file = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const kept = file('results.json');

export const readResults = async (): Promise<Results> =>
  existsSync(kept) ? resultsFrom(await readFile(kept, 'utf8')) : {};

/** In place of what was kept of it before. */
export async function keep(name: string, outcome: Outcome): Promise<void> {
  const results = { ...(await readResults()), [name]: outcome };
  const inOrder = Object.keys(benches).flatMap((each) => (each in results ? [[each, results[each]]] : []));
  await writeFile(kept, `${JSON.stringify(Object.fromEntries(inOrder), undefined, 2)}\n`);
  await writeDocuments();
}

/** Nothing is measured for it: what a person has changed beside the figures comes into the documents. */
export async function writeDocuments(): Promise<void> {
  const results = await readResults();
  const sections = Object.entries(results).map(([name, outcome]) => [name, sectionOf(name, outcome)] as const);
  await change('RESULTS.md', [['where', placesOf(results)], ...sections]);
  await change('../docs/PERFORMANCE.md', [['targets', targetsOf(Object.keys(benches), results, reasons)]]);
  for (const [name, { report, when, machine }] of Object.entries(results)) {
    if (report?.chart === undefined) continue;
    await draw(name, report.chart, `Less is better. All in one run, ${when}, ${machine.split(',')[0]}`);
  }
}

async function change(path: string, parts: readonly (readonly [string, string])[]): Promise<void> {
  let text = await readFile(file(path), 'utf8');
  for (const [name, content] of parts) text = withPart(text, name, content);
  await writeFile(file(path), text);
}
