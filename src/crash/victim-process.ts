/** A process of the crash lab as its parent sees it: it tells facts, dies or is killed, and never outlives the parent. */
import { crashLimits } from '../base/crash-limits.ts';
import type { Log } from '../base/log.ts';
import { spawnGuarded } from '../db/guarded-process.ts';
import type { CrashPlan } from '../lab/crash-lab.ts';
import { factIn } from './fact.ts';
import type { Fact } from './fact.ts';

export interface VictimProcess {
  readonly pid: number;
  readonly isRunning: boolean;
  /** 128 + n when signal n ended it. */
  readonly ended: Promise<number>;
  /** What it printed last, apart from facts. */
  lastLines(): string;
  /** Nothing is lost with it, here or anywhere. */
  kill(): Promise<void>;
}

export interface VictimProcessOptions {
  /** The file of the program, `dist/main.js`. */
  readonly program: string;
  readonly folder: string;
  readonly plan: CrashPlan;
  readonly databaseUrl: string;
  readonly databasePrepare: boolean;
  readonly log: Log;
  readonly onFact: (fact: Fact) => void;
}

/** By which the program knows that it is to be one. */
export const COMMAND = 'crash-lab-process';

export async function startVictim(options: VictimProcessOptions): Promise<VictimProcess> {
  const { program, folder, plan, databaseUrl, databasePrepare, log, onFact } = options;
  const lines: string[] = [];
  const child = await spawnGuarded({
    command: process.execPath,
    arguments: [program, COMMAND, '--point', plan.point, ...plan.without.flatMap((one) => ['--without', one])],
    stopSignal: 'TERM',
    workingFolder: folder,
    environment: {
      DATABASE_URL: databaseUrl,
      LEDGERLINE_DATABASE_PREPARE: String(databasePrepare),
      LEDGERLINE_LOG_LEVEL: 'warn',
    },
    onLine(line) {
      const fact = factIn(line);
      if (fact !== undefined) return onFact(fact);
      log.debug({ line }, 'a process of the crash lab said');
      lines.push(line);
      if (lines.length > crashLimits.linesKept) lines.shift();
    },
  });

  return {
    pid: child.pid,
    get isRunning() {
      return child.isRunning;
    },
    ended: child.ended,
    lastLines: () => lines.join('\n'),
    async kill() {
      child.signal('SIGKILL');
      await child.ended;
    },
  };
}
