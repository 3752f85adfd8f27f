/** Before all tests: builds what child processes run, and starts the run's servers. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';
import { makeDatabase } from './fresh-database.ts';
import type { FreshDatabase } from './fresh-database.ts';
import { say } from './path-lookup.ts';
import { makeRunFolder, remove } from './run-folder.ts';
import { startNatsServer, startPostgresServer } from './servers.ts';
import type { TestServer } from './test-server.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    runFolder: string;
    postgresUrl: string;
    /** In that Postgres: a migrated database that nobody is connected to. */
    templateDatabase: string;
    natsUrl: string;
  }
}

const root = fileURLToPath(new URL('../..', import.meta.url));

/** What a run has, made once although each project of the run asks for it. */
interface Run {
  readonly runFolder: string;
  readonly postgresUrl: string;
  readonly templateDatabase: string;
  readonly natsUrl: string;
  end(): Promise<void>;
}

// each project loads its own copy of this module
const memory = globalThis as typeof globalThis & { ledgerlineRun?: Promise<Run> };

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  memory.ledgerlineRun ??= begin();
  const run = await memory.ledgerlineRun;
  project.provide('runFolder', run.runFolder);
  project.provide('postgresUrl', run.postgresUrl);
  project.provide('templateDatabase', run.templateDatabase);
  project.provide('natsUrl', run.natsUrl);
  return () => run.end();
}

async function begin(): Promise<Run> {
  build();
  const runFolder = makeRunFolder();
  const started: TestServer[] = [];
  const shared = async (variable: string, start: (runFolder: string) => Promise<TestServer>): Promise<string> => {
    const given = process.env[variable];
    if (given !== undefined && given !== '') return given;
    const server = await start(runFolder);
    started.push(server);
    return server.url;
  };
  let template: FreshDatabase | undefined;
  const end = async (): Promise<void> => {
    await template?.drop();
    template = undefined;
    await Promise.all(started.splice(0).map((server) => server.stop()));
    remove(runFolder);
  };
  try {
    const postgresUrl = await shared('LEDGERLINE_TEST_DATABASE_URL', startPostgresServer);
    template = await makeDatabase(postgresUrl);
    const natsUrl = await shared('LEDGERLINE_TEST_NATS_URL', startNatsServer);
    say(
      `running on Postgres at ${new URL(postgresUrl).host}, NATS at ${new URL(natsUrl).host}, Node ${process.version}`,
    );
    return { runFolder, postgresUrl, templateDatabase: template.name, natsUrl, end };
  } catch (error) {
    await end();
    throw error;
  }
}

/** A stale `dist` would let tests pass on code that is not there any more. */
function build(): void {
  if (process.env['LEDGERLINE_TEST_BUILD'] === 'off') {
    say('LEDGERLINE_TEST_BUILD=off: child processes run the dist that is there');
    return;
  }
  try {
    execFileSync('npm', ['run', '--silent', 'build'], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  } catch (error) {
    const output = error instanceof Error && 'stdout' in error ? String(error.stdout) : '';
    throw new Error(
      `the build failed, so the tests would run stale code (LEDGERLINE_TEST_BUILD=off runs them all the same):\n${output}`,
      { cause: error },
    );
  }
}
