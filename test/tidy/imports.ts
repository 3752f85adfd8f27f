/** Imports go down a floor or stay in their folder, in no circle, through named files. */
import { posix } from 'node:path';
import { type Source, codeOf } from './sources.ts';

/** The folders of each floor, from the ground. Those on the top floor belong together: they are the process. */
const FLOORS: readonly (readonly string[])[] = [
  ['base'],
  ['event', 'db'],
  ['ledger', 'bus', 'sse', 'outbox', 'access'],
  ['session', 'room', 'step'],
  ['producer', 'turn', 'lab'],
  ['http', 'worker'],
  ['example'],
  ['crash'],
  ['cli', ''],
];

const TOP = FLOORS.length - 1;

const STATEMENT =
  /^(?:import|export)\b(?:(?!^(?:import|export)\b)[^'"`;])*?from\s*['"]([^'"]+)['"]|^import\s*['"]([^'"]+)['"]/gm;
const EXPRESSION = /\bimport\(\s*['"]([^'"]+)['"]/g;

/** What a file imports, types and dynamic imports included. */
export function importsOf(text: string): string[] {
  const code = codeOf(text);
  return [...code.matchAll(STATEMENT), ...code.matchAll(EXPRESSION)].map((match) => String(match[1] ?? match[2]));
}

/** Paths of the files that a file names by where they lie. */
export function localImports({ path, text }: Source): string[] {
  return importsOf(text)
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => posix.join(posix.dirname(path), specifier));
}

const folderOf = (path: string): string => path.split('/').slice(1, -1)[0] ?? '';
const floorOf = (folder: string): number => FLOORS.findIndex((folders) => folders.includes(folder));

export function floorBreaches(sources: readonly Source[]): string[] {
  return sources.flatMap((source) => {
    const from = folderOf(source.path);
    if (floorOf(from) < 0) return [`${source.path}: the folder ${from} has no floor`];
    return localImports(source).flatMap((target) => {
      if (!target.startsWith('src/')) return [`${source.path} imports ${target}, which is outside`];
      const to = folderOf(target);
      if (to === from || floorOf(to) < floorOf(from)) return [];
      if (floorOf(to) === TOP && floorOf(from) === TOP) return [];
      return [`${source.path} imports ${target}, which is ${floorOf(to) > floorOf(from) ? 'up' : 'sideways'}`];
    });
  });
}

/** Each circle once, as the chain of its files. */
export function cycles(sources: readonly Source[]): string[] {
  const graph = new Map(sources.map((source) => [source.path, localImports(source)]));
  const done = new Set<string>();
  const found: string[] = [];
  const walk = (path: string, chain: readonly string[]): void => {
    if (chain.includes(path)) {
      found.push([...chain.slice(chain.indexOf(path)), path].join(' → '));
      return;
    }
    if (done.has(path)) return;
    for (const target of graph.get(path) ?? []) walk(target, [...chain, path]);
    done.add(path);
  };
  for (const path of graph.keys()) walk(path, []);
  return found;
}

const NAMELESS = /^(?:index|types?|utils?|helpers?|common|misc|shared)\.tsx?$/;

/** No file that could hold anything, and none that only passes on what others hold. */
export function doorBreaches(sources: readonly Source[]): string[] {
  return sources.flatMap(({ path, text }) => [
    ...(NAMELESS.test(posix.basename(path)) ? [`${path}: the name says nothing`] : []),
    ...(/^export\b[^'"`;(=]*\bfrom\s*['"]/m.test(codeOf(text)) ? [`${path} passes on what another file exports`] : []),
  ]);
}
