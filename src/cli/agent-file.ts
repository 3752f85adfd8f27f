/** Finds the agent in a person's file, or says what is wrong with the file and what to do about it. */
import { existsSync } from 'node:fs';
import { extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { LedgerlineError, toError } from '../base/errors.ts';
import { isAgent } from '../worker/define-agent.ts';
import type { Agent } from '../worker/define-agent.ts';

const example = "export default defineAgent({ name: 'support', async run(turn) { … } })";

export async function loadAgent(file: string, folder: string): Promise<Agent> {
  const path = resolve(folder, file);
  if (!existsSync(path)) throw refused(`there is no file ${path}`);
  const exported = await importDefault(path, file);
  if (isAgent(exported)) return exported;
  if (exported === undefined) throw refused(`${file} has no default export: it needs ${example}`);
  if (Array.isArray(exported)) {
    throw refused(
      `${file} exports a list by default: a worker runs one agent, so give each a file and a worker of its own`,
    );
  }
  throw refused(`the default export of ${file} is not an agent: it needs ${example}, from 'ledgerline/worker'`);
}

async function importDefault(path: string, file: string): Promise<unknown> {
  try {
    const { default: exported } = (await import(pathToFileURL(path).href)) as { default?: unknown };
    return exported;
  } catch (thrown) {
    const error = toError(thrown);
    if (isForeignToNode(error) && /^\.[cm]?tsx?$/.test(extname(path))) {
      throw refused(
        `Node ${process.versions.node} does not run ${file}: compile it and give the .js, or run\n` +
          `node --import tsx node_modules/ledgerline/dist/main.js worker ${file}`,
      );
    }
    // Where in the person's own code it broke is what he needs.
    const reason = error instanceof LedgerlineError ? error.message : (error.stack ?? error.message);
    throw refused(`${file} could not be imported: ${reason}`, thrown);
  }
}

const isForeignToNode = (error: Error): boolean =>
  'code' in error &&
  (error.code === 'ERR_UNKNOWN_FILE_EXTENSION' || error.code === 'ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING');

const refused = (message: string, cause?: unknown): LedgerlineError =>
  new LedgerlineError('configuration', message, {}, cause);
