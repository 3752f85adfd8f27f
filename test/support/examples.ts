/** The code that the READMEs show, to be run and compiled. */
import { readFileSync } from 'node:fs';

const root = new URL('../../', import.meta.url);

export interface Example {
  /** `README.md:64`. */
  readonly place: string;
  readonly language: 'js' | 'ts' | 'tsx';
  readonly code: string;
  /** Packages that it imports from, paths below them included. */
  readonly imports: readonly string[];
}

export function examplesOf(path: string): Example[] {
  const text = readFileSync(new URL(path, root), 'utf8');
  return [...text.matchAll(/^```(js|ts|tsx)\n([^]+?)^```$/gm)].map(({ index, 1: language, 2: code = '' }) => ({
    place: `${path}:${text.slice(0, index).split('\n').length}`,
    language: language as Example['language'],
    code,
    imports: [...code.matchAll(/^import [^;]+ from '([^']+)';$/gm)].map(([, name]) => String(name)),
  }));
}
