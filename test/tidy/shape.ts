/** One idea a file: its size, its name, and the sentence that it opens with. */
import { posix } from 'node:path';
import type { Source } from './sources.ts';

const MOST_LINES = 250;

export function sizeBreaches(sources: readonly Source[]): string[] {
  return sources.flatMap(({ path, text }) => {
    const lines = text.trimEnd().split('\n').length;
    return lines > MOST_LINES ? [`${path} has ${lines} lines: two ideas`] : [];
  });
}

export function nameBreaches(sources: readonly Source[]): string[] {
  return sources
    .filter(({ path }) => !/^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.(?:test|config|d))?\.tsx?$/.test(posix.basename(path)))
    .map(({ path }) => `${path} is not in kebab-case`);
}

/** A sentence begins with a capital, a digit or a quoted name and has an end. */
const COMMENT = /^(?:#!.*\n)?\/\*\*\s*(?:\*\s*)?(?=[A-Z0-9`])[^@]{12,}?[.?:;]/;
const OPENING: Readonly<Record<string, RegExp>> = {
  '.ts': COMMENT,
  '.tsx': COMMENT,
  '.sql': /^-- (?=[A-Z0-9`])[\s\S]{12,}?[.?:;]/,
};

export function openingBreaches(sources: readonly Source[]): string[] {
  return sources
    .filter(({ path, text }) => OPENING[posix.extname(path)]?.test(text) !== true)
    .map(({ path }) => `${path} does not open with the sentence that says what it is for`);
}
