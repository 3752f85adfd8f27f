/** What the server's package offers to programs can be imported by its name, and the agent library needs no server for that. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { importsOf } from '../tidy/imports.ts';
import { readText } from '../tidy/sources.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { exports } = JSON.parse(readText('package.json')) as {
  exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>;
};
const entries = Object.entries(exports).flatMap(([name, target]) =>
  typeof target === 'string' ? [] : [{ name, ...target }],
);
const sourceOf = (path: string): string => path.replace(/^\.\/dist\/(.+)\.js$/, 'src/$1.ts');

test.each(entries)(
  'Node imports $name, and what it exports is what its source exports',
  async ({ name, types, default: path }) => {
    const script = `console.log(JSON.stringify(Object.keys(await import(${JSON.stringify(name.replace('.', 'ledgerline'))}))))`;
    const exported = execFileSync(process.execPath, ['--input-type=module', '--eval', script], {
      cwd: root,
      encoding: 'utf8',
    });
    const source: object = await import(posix.join(root, sourceOf(path)));
    expect((JSON.parse(exported) as string[]).toSorted()).toEqual(Object.keys(source).toSorted());
    expect(Object.keys(source)).not.toEqual([]);
    expect(readFileSync(posix.join(root, types), 'utf8')).not.toBe('');
  },
);

test('an agent’s file can be imported without a connection: what stands behind it needs no client of one', () => {
  const packages = new Set<string>();
  const seen = new Set<string>();
  const walk = (path: string): void => {
    if (seen.has(path)) return;
    seen.add(path);
    // What a transactional tool is given has a type of the client's, which is gone when the file is run.
    const run = readText(path).replaceAll(/^import type\b[^;]*;$/gm, '');
    for (const name of importsOf(run)) {
      if (name.startsWith('.')) walk(posix.join(posix.dirname(path), name));
      else packages.add(name);
    }
  };
  walk('src/worker/define-agent.ts');
  expect([...packages].filter((name) => !name.startsWith('node:'))).toEqual(['zod']);
});
