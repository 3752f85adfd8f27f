#!/usr/bin/env node
/** The process: its arguments, its signals, its last words. Everything else is below. */
import { keepAlive, systemClock } from './base/clock.ts';
import { createLog } from './base/log.ts';
import { createOutput } from './cli/output.ts';
import { exitCodes, run } from './cli/program.ts';
import { environment } from './config.ts';

const log = createLog('error');
const stopping = new AbortController();

/** The first signal asks for an orderly end. Who asks again wants it now; an embedded Postgres ends with this process. */
function onSignal(): void {
  if (stopping.signal.aborted) process.exit(exitCodes.failed);
  stopping.abort();
}
process.on('SIGINT', onSignal);
process.on('SIGTERM', onSignal);

/** After a defect the state of the process is unknown: what it had promised is in the ledger, so it ends. */
function onDefect(thrown: unknown): void {
  log.error({ err: thrown }, 'the process ends after an error that nobody handled');
  process.exit(exitCodes.failed);
}
process.on('uncaughtException', onDefect);
process.on('unhandledRejection', onDefect);

// A command lives until it is over. A worker whose database is away has no socket, and only timers that keep no process
// alive: Node would end it without a word (exit code 13).
keepAlive();
const exitCode = await run(process.argv, {
  env: environment,
  folder: process.cwd(),
  input: process.stdin,
  output: createOutput(),
  stop: stopping.signal,
  clock: systemClock,
});
// Connections that wait to be used again would keep the process for seconds.
process.exit(exitCode);
