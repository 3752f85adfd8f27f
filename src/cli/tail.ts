/** `ledgerline tail`: a session's events as lines, from anywhere to its end, through every cut. */
import { Command, InvalidArgumentError } from 'commander';
import { LedgerlineError } from '../base/errors.ts';
import { parseQueryCursor } from '../event/cursor.ts';
import { sessionArgument } from './arguments.ts';
import { anyTarget } from './client.ts';
import type { Target } from './client.ts';
import type { Context } from './context.ts';
import { follow } from './follow.ts';

interface TailOptions {
  readonly after?: string;
  readonly data?: true;
  readonly untilEnd?: true;
}

export function tailCommand(context: Context): Command {
  return new Command('tail')
    .summary('print the events of a session as they come')
    .description(
      'Prints one line an event: the event as the server sent it, or its data alone. Comes back by itself after cuts and ' +
        'restarts, and goes on where it was. Ends when the session is closed and everything of it was printed.',
    )
    .addArgument(sessionArgument())
    .option('--after <sequence>', 'begin after this event; "head" begins now (default: from the start)', cursorOption)
    .option('--data', "print each event's data alone, exactly as it was stored")
    .option('--until-end', 'for scripts: only the end of the session is a success; being interrupted is a failure')
    .addHelpText(
      'after',
      `
Examples:
  ledgerline tail demo
  ledgerline tail demo --after 120 --data
  ledgerline tail demo --after head | jq .type
`,
    )
    .action((session: string, options: TailOptions) => tail(context, session, options));
}

async function tail(context: Context, session: string, options: TailOptions): Promise<void> {
  const { output, stop, clock } = context;
  const end = await follow({
    session,
    after: options.after,
    target: await reachable(context),
    note: (text) => output.note(text),
    stop,
    clock,
    async onEvents(envelopes) {
      const lines = options.data === true ? envelopes.map(payloadOf) : envelopes;
      await output.print(`${lines.join('\n')}\n`);
      return !output.isClosed;
    },
  });
  if (end.kind === 'end' && end.reason !== 'closed') {
    throw new LedgerlineError('session_deleted', `the session was ${end.reason} before all of it was printed`);
  }
  if (end.kind === 'end') output.note('the session is closed, and all of it was printed');
  if (end.kind === 'stopped' && options.untilEnd === true) {
    throw new LedgerlineError('unavailable', 'interrupted before the end of the session');
  }
}

/** The server as it is now; a development server that is just restarting is still where it was. */
async function reachable(context: Context): Promise<() => Promise<Target>> {
  let known = await anyTarget(context);
  return async () => {
    known = await anyTarget(context).catch(() => known);
    return known;
  };
}

/** The payload's own text, cut out rather than parsed and printed anew [I2]: nothing before it can hold this mark. */
function payloadOf(envelope: string): string {
  const mark = ',"data":';
  return envelope.slice(envelope.indexOf(mark) + mark.length, -1);
}

function cursorOption(text: string): string {
  const { kind } = parseQueryCursor(text);
  if (kind === 'after' || kind === 'head') return text;
  throw new InvalidArgumentError('It is a sequence such as 120, or "head".');
}
