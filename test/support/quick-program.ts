/** The built program once more, in a few files instead of five hundred: the same code, and a process of it starts in half the time. */
import { existsSync, mkdtempSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { inject } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The program, and what the files of the tests' agents and consumers import beside it: one copy of each module for all of them. */
const entries = {
  main: 'dist/main.js',
  agent: 'dist/worker/define-agent.js',
  inbox: 'dist/outbox/inbox.js',
  log: 'dist/base/log.js',
  channel: 'dist/outbox/jetstream-channel.js',
  postgres: 'node_modules/postgres/src/index.js',
  zod: 'node_modules/zod/index.js',
} as const;

let made: Promise<string> | undefined;

/** The file of an entry, which the first of a run to ask makes. */
export async function quickProgram(entry: keyof typeof entries): Promise<string> {
  made ??= makeOnce(join(inject('runFolder'), 'quick'));
  return join(await made, `${entry}.mjs`);
}

/** What a file in another folder imports an entry by. */
export const quickModule = async (entry: keyof typeof entries): Promise<string> =>
  pathToFileURL(await quickProgram(entry)).href;

async function makeOnce(folder: string): Promise<string> {
  if (existsSync(folder)) return folder;
  const own = mkdtempSync(`${folder}-`);
  await make(own);
  try {
    renameSync(own, folder);
  } catch (error) {
    // another worker made it meanwhile
    if (!existsSync(folder)) throw error;
  }
  return folder;
}

async function make(outDir: string): Promise<void> {
  // whoever starts no process loads no bundler
  const { build } = await import('vite');
  await build({
    configFile: false,
    envFile: false,
    logLevel: 'error',
    root,
    ssr: { noExternal: true },
    plugins: [
      {
        name: 'places',
        // Beside its own file a module finds the migrations, the page and the thread of its watchdog.
        transform: (code, id) =>
          code.includes('import.meta.url')
            ? { code: code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href)), map: null }
            : null,
      },
    ],
    build: {
      ssr: true,
      outDir,
      emptyOutDir: false,
      target: 'node20',
      minify: false,
      rollupOptions: {
        input: Object.fromEntries(Object.entries(entries).map(([name, path]) => [name, join(root, path)])),
        preserveEntrySignatures: 'strict',
        output: { format: 'es', entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' },
      },
    },
  });
}
