/** `ledgerline crash-lab-process`: what the crash lab kills. Started by the development server, and by nobody else. */
import { writeSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Command, Option } from 'commander';
import { createLog } from '../base/log.ts';
import { readWorkerConfig } from '../config.ts';
import { lineOf } from '../crash/fact.ts';
import { createVictim } from '../crash/victim.ts';
import { COMMAND } from '../crash/victim-process.ts';
import { crashPoints, safeguards } from '../lab/crash-lab.ts';
import type { CrashPlan } from '../lab/crash-lab.ts';
import type { Context } from './context.ts';
import { stopped } from './stopped.ts';

/** The built program that this file belongs to. */
export const builtProgram = fileURLToPath(new URL('../main.js', import.meta.url));

const STANDARD_OUTPUT = 1;

export function crashLabProcessCommand(context: Context): Command {
  return new Command(COMMAND)
    .summary('be killed by the crash lab')
    .addOption(new Option('--point <point>', 'where to die').choices(crashPoints).makeOptionMandatory())
    .addOption(new Option('--without <safeguard...>', 'what to go without').choices(safeguards).default([]))
    .action((plan: CrashPlan) => beVictim(context, plan));
}

async function beVictim({ env, clock, stop }: Context, plan: CrashPlan): Promise<void> {
  const { databaseUrl, databasePrepare, logLevel } = readWorkerConfig(env);
  const log = createLog(logLevel);
  const victim = createVictim({
    plan,
    databaseUrl,
    databasePrepare,
    log,
    clock,
    // Past the stream, which may still hold a line when the process dies.
    tell: (fact) => void writeSync(STANDARD_OUTPUT, `${lineOf(fact)}\n`),
  });
  await victim.start();
  await stopped(stop);
  await victim.stop();
}
