/** `ledgerline doctor`: looks at a deployment from outside, as readers and producers do, and says what is wrong with it. */
import { Argument, Command, InvalidArgumentError } from 'commander';
import { doctorLimits } from '../base/doctor-limits.ts';
import { LedgerlineError, toError } from '../base/errors.ts';
import { address, origins } from '../config-values.ts';
import { sessionIdShape } from '../event/event.ts';
import { checked } from './arguments.ts';
import type { Context } from './context.ts';
import { findDeployment } from './doctor/deployment.ts';
import { examine } from './doctor/examine.ts';
import { inWords } from './doctor/finding.ts';
import type { Finding, Severity } from './doctor/finding.ts';
import { createProgress } from './progress.ts';

interface DoctorOptions {
  readonly session?: string;
  readonly origin?: string;
  readonly quick?: true;
  readonly json?: true;
}

export function doctorCommand(context: Context): Command {
  return new Command('doctor')
    .summary('find out what is wrong with a deployment')
    .description(
      'Looks at a deployment as its readers and producers see it, through whatever stands between: is it there, do events ' +
        'arrive one by one, does a quiet stream stay open, do readers come back where they were, do tokens, tickets, cookies ' +
        'and clocks hold. Where it may, it makes a session of its own and deletes it in the end. Takes about 40 s.',
    )
    .addArgument(new Argument('[url]', 'the public address (default: LEDGERLINE_URL)').argParser(urlArgument))
    .option('-s, --session <id>', 'look at this one, and write nothing', checked(sessionIdShape))
    .option('--origin <origin>', 'of the page that will read, such as https://app.example.com', originOption)
    .option('--quick', 'leave out watching a quiet stream, which takes half a minute')
    .option('--json', 'print one line of JSON a finding')
    .addHelpText(
      'after',
      `
Examples:
  ledgerline doctor
  ledgerline doctor https://events.example.com --origin https://app.example.com
  ledgerline doctor --quick --json | jq 'select(.severity == "fault")'
`,
    )
    .action((url: string | undefined, options: DoctorOptions) => doctor(context, url, options));
}

async function doctor(context: Context, url: string | undefined, options: DoctorOptions): Promise<void> {
  const { output, clock, stop } = context;
  const deployment = await findDeployment(context, url);
  const counts: Record<Severity, number> = { ok: 0, hint: 0, skipped: 0, fault: 0 };
  let watchedMs = 0;
  const progress = createProgress(
    context,
    () => `watching a quiet stream: ${inWords(watchedMs)} of ${inWords(doctorLimits.watchMs)}`,
  );
  await examine({
    deployment,
    wire: { clock, stop, times: doctorLimits },
    session: options.session,
    origin: options.origin,
    isQuick: options.quick === true,
    async tell(finding) {
      progress.end();
      counts[finding.severity] += 1;
      await output.print(options.json === true ? `${JSON.stringify(finding)}\n` : linesOf(finding));
    },
    watching(passedMs) {
      watchedMs = passedMs;
      progress.moved();
    },
  });
  const { fault, hint, skipped } = counts;
  const sum = `${counted(fault, 'fault')}, ${counted(hint, 'hint')}, ${counted(skipped, 'check')} left out`;
  if (fault > 0) throw new LedgerlineError('unavailable', sum);
  output.note(sum);
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;

/** What proxies and gateways said may hold anything, and must not speak to the terminal. */
function linesOf({ severity, name, seen, todo }: Finding): string {
  const visible = (text: string): string => text.replaceAll(/\p{C}+/gu, ' ');
  const first = `${severity.padEnd(7)}  ${visible(seen)} (${name})\n`;
  return todo === undefined ? first : `${first}${' '.repeat(9)}→ ${visible(todo)}\n`;
}

function urlArgument(text: string): string {
  return parsed(() => address(text));
}

function originOption(text: string): string {
  return parsed(() => {
    const [origin, ...more] = origins(text);
    if (origin === undefined || more.length > 0) throw new Error('is not one origin');
    return origin;
  });
}

/** The parsers of settings say what a text is not; a person gave it. */
function parsed(parse: () => string): string {
  try {
    return parse();
  } catch (error) {
    throw new InvalidArgumentError(`It ${toError(error).message}.`);
  }
}
