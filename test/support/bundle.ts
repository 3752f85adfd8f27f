/** The web client's library as a page's bundler makes it: in one piece, minified. */
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const pathOf = (entry: string): string => fileURLToPath(new URL(`../../web-client/src/${entry}.ts`, import.meta.url));

/** What the entries export, and all that they import: a module without imports, or a script that makes it a global. */
export async function bundleLibrary(
  entries: readonly string[],
  as: 'module' | 'ledgerline' = 'module',
): Promise<string> {
  const name = 'virtual:entries';
  const output = as === 'module' ? ({ format: 'es' } as const) : ({ format: 'iife', name: as } as const);
  const result = await build({
    configFile: false,
    envFile: false,
    logLevel: 'silent',
    plugins: [
      {
        name: 'entries',
        resolveId: (id) => (id === name ? id : null),
        load: (id) => (id === name ? entries.map((entry) => `export * from '${pathOf(entry)}';`).join('\n') : null),
      },
    ],
    build: {
      write: false,
      minify: true,
      target: 'es2022',
      modulePreload: false,
      rollupOptions: { input: name, preserveEntrySignatures: 'strict', output: { ...output, codeSplitting: false } },
    },
  });
  if (!('output' in result)) throw new Error('one build makes one bundle');
  const [chunk, ...others] = result.output;
  if (others.length > 0 || chunk.imports.length > 0) throw new Error('the bundle is not alone');
  return chunk.code;
}
