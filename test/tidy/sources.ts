/** The repository's text as the tidy rules see it. */
import { readFileSync, readdirSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

export interface Source {
  /** From the root, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

/** Every file below a folder whose name ends in one of these ways; what was installed there is not ours. */
export function readSources(folder: string, endings: readonly string[] = ['.ts', '.tsx']): Source[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && endings.some((ending) => entry.name.endsWith(ending)))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !path.split(sep).includes('node_modules'))
    .toSorted()
    .map((path) => ({ path: relative(root, path).replaceAll('\\', '/'), text: readFileSync(path, 'utf8') }));
}

export const readText = (path: string): string => readFileSync(join(root, path), 'utf8');

/** A comment of a line needs a space before it, so that `//` in an address is none. */
const COMMENT = /\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm;

/** Comments blanked out, lines kept. */
export const codeOf = (text: string): string => text.replace(COMMENT, (comment) => comment.replace(/[^\n]/g, ' '));

export const commentsOf = (text: string): string[] => text.match(COMMENT) ?? [];

/** The line of an offset, from 1. */
export const lineAt = (text: string, offset: number): number => text.slice(0, offset).split('\n').length;
