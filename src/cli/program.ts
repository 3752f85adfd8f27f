/** The command line as a whole: its commands, and what a failure means for the exit code. */
import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { z } from 'zod';
import { LedgerlineError, toError } from '../base/errors.ts';
import { appendCommand } from './append.ts';
import { closeCommand } from './close.ts';
import type { Context } from './context.ts';
import { crashLabProcessCommand } from './crash-lab-process.ts';
import { deliveriesCommand } from './deliveries.ts';
import { devCommand } from './dev.ts';
import { doctorCommand } from './doctor.ts';
import { entriesCommand } from './entries.ts';
import { migrateCommand } from './migrate.ts';
import { playCommand } from './play.ts';
import { relayCommand } from './relay.ts';
import { revokeCommand } from './revoke.ts';
import { serveCommand } from './serve.ts';
import { sessionsCommand } from './sessions.ts';
import { tailCommand } from './tail.ts';
import { tokenCommand } from './token.ts';
import { workerCommand } from './worker.ts';
import { turnsCommand } from './turns.ts';

export const exitCodes = { done: 0, failed: 1, wrongUse: 2 } as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** `argv` as in `process.argv`. Resolves when the command has done its work and everything it printed has left. */
export async function run(argv: readonly string[], context: Context): Promise<ExitCode> {
  const { output } = context;
  let printed = Promise.resolve();
  const program = new Command('ledgerline')
    .description('Session streaming for AI agents: number your events, and you can afford to lose them on the wire.')
    .version(version())
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void (printed = printed.then(() => output.print(text))),
      writeErr: (text) => output.note(text.trimEnd()),
      outputError: (text, write) => write(text.replace(/^error:/, 'ledgerline:')),
    })
    .showHelpAfterError('Add --help to see how it is used.')
    .addHelpText('after', help);
  const commands = [
    devCommand,
    serveCommand,
    workerCommand,
    relayCommand,
    migrateCommand,
    doctorCommand,
    appendCommand,
    playCommand,
    tailCommand,
    closeCommand,
    sessionsCommand,
    turnsCommand,
    deliveriesCommand,
    tokenCommand,
    revokeCommand,
  ];
  for (const command of commands) addCommand(program, command(context));
  // Of the worked example, which is no part of what others run.
  program.addCommand(entriesCommand(context).copyInheritedSettings(program), { hidden: true });
  program.addCommand(crashLabProcessCommand(context).copyInheritedSettings(program), { hidden: true });
  try {
    await program.parseAsync([...argv]);
    return exitCodes.done;
  } catch (thrown) {
    return failure(thrown, context);
  } finally {
    await printed;
  }
}

/** A command may have commands of its own. */
function addCommand(parent: Command, command: Command): void {
  parent.addCommand(command.copyInheritedSettings(parent));
  for (const each of command.commands) each.copyInheritedSettings(command);
}

const help = `
append, play, tail, close, sessions, turns, revoke and doctor find their server by LEDGERLINE_URL and LEDGERLINE_TOKEN, or
LEDGERLINE_INTERNAL_URL and LEDGERLINE_KEY; with none of them set, by the development server that runs in this folder.

Exit codes: 0 done, 1 failed, 2 wrong use.

Examples:
  ledgerline dev
  echo '{"text":"hello"}' | ledgerline append demo --type note
  ledgerline tail demo
`;

function failure(thrown: unknown, { output }: Context): ExitCode {
  if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? exitCodes.done : exitCodes.wrongUse;
  const error = toError(thrown);
  // What nobody expected is a defect: its stack is the way to it.
  output.note(
    `ledgerline: ${error instanceof LedgerlineError ? error.message.replaceAll('\n', '\nledgerline: ') : error.stack}`,
  );
  return error instanceof LedgerlineError && error.code === 'configuration' ? exitCodes.wrongUse : exitCodes.failed;
}

function version(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return z.object({ version: z.string() }).parse(JSON.parse(text)).version;
}
