/** `ledgerline turns`: which turns need a person, and what a person may do about each. */
import { Argument, Command } from 'commander';
import { z } from 'zod';
import { LedgerlineError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { turnIdShape } from '../event/turn-id.ts';
import { checked, sessionArgument } from './arguments.ts';
import { anyTarget, post, request, understood } from './client.ts';
import type { Context } from './context.ts';
import { resolveCommand } from './resolve.ts';
import { table } from './table.ts';

interface ListOptions {
  readonly active?: true;
  readonly json?: true;
}

export function turnsCommand(context: Context): Command {
  const command = new Command('turns')
    .summary('list the turns that need a person, and settle them')
    .description(
      'Lists the turns that failed, are in doubt or wait for a decision, the longest first. The commands below settle one; ' +
        'each needs a token with the scope write (cancel: send), or the internal key.',
    )
    .option('--active', 'list what is queued, running or waiting instead')
    .option('--json', 'print one line of JSON a turn, as the server has it')
    .addHelpText(
      'after',
      `
Examples:
  ledgerline turns
  ledgerline turns --active --json | jq .session
  ledgerline turns retry run-42 0b6c1d1e-6f0e-4c52-9a51-1d0b7f4f7a11
  ledgerline turns resolve run-42 0b6c1d1e-6f0e-4c52-9a51-1d0b7f4f7a11 2 --not-done --resume
`,
    )
    .action((options: ListOptions) => list(context, options));
  const about = (name: string, summary: string, turn: Argument, act: Act): Command => {
    const one = new Command(name).summary(summary).description(`${summary[0]?.toUpperCase()}${summary.slice(1)}.`);
    one.addArgument(sessionArgument()).addArgument(turn.argParser(checked(turnIdShape)));
    command.addCommand(
      one.action((session: string, id: string | undefined, options: ActOptions) => act(context, session, id, options)),
    );
    return one;
  };
  const turn = (): Argument => new Argument('<turn>', 'its id');
  about('retry', 'try a failed turn once more, with the same inputs', turn(), resume('retry'));
  about('rerun', 'begin a new turn with the inputs of one that is over', turn(), resume('rerun')).option(
    '--force',
    'though the effects that this one had will be had again',
  );
  about(
    'cancel',
    'stop a turn; without its id, whatever is queued or under way',
    new Argument('[turn]', 'its id'),
    cancel,
  );
  about('ack', 'take a failure off the list', turn(), acknowledge);
  command.addCommand(resolveCommand(context));
  return command;
}

interface ActOptions {
  readonly force?: true;
}

type Act = (context: Context, session: string, turn: string | undefined, options: ActOptions) => Promise<void>;

const turnShape = z.looseObject({
  session: z.string(),
  turn: z.string().nullable(),
  status: z.string(),
  worker: z.string().nullable(),
  tries: z.number(),
  maxAttempts: z.number().nullable(),
  since: z.string(),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  /** Of a server of this release. */
  doubts: z.array(z.object({ step: z.number(), tool: z.string(), effect: z.string() })).optional(),
});
type Turn = z.infer<typeof turnShape>;

async function list(context: Context, { active, json }: ListOptions): Promise<void> {
  const { output, stop } = context;
  const target = await anyTarget(context);
  const which = active === true ? 'active' : 'attention';
  const path = `/turns?which=${which}&limit=${limits.turnsPerList}`;
  const answer = await request(target, { method: 'GET', path, stop });
  const { turns } = understood(z.object({ turns: z.array(turnShape) }), answer, target.url + path);
  if (turns.length === 0) {
    output.note(active === true ? 'no turn is queued, running or waiting' : 'no turn needs a person');
    return;
  }
  await output.print(json === true ? turns.map((turn) => `${JSON.stringify(turn)}\n`).join('') : tableOf(turns));
  if (turns.length === limits.turnsPerList) output.note(`these are the first ${turns.length}; there may be more`);
}

const tableOf = (turns: readonly Turn[]): string =>
  table(
    ['SESSION', 'TURN', 'STATUS', 'SINCE', 'TRIES', 'WORKER', 'ERROR'],
    turns.map(({ session, turn, since, tries, maxAttempts, worker, ...trouble }) => [
      session,
      turn ?? '-',
      trouble.status,
      since,
      maxAttempts === null ? String(tries) : `${tries}/${maxAttempts}`,
      worker ?? '-',
      wordsFor(trouble),
    ]),
  );

/** What is wrong, and with which step a person must begin. */
function wordsFor({ status, error, doubts }: Pick<Turn, 'status' | 'error' | 'doubts'>): string {
  const isResolved = status === 'in_doubt' && doubts?.length === 0;
  const steps = isResolved
    ? ['its steps are resolved: `ledgerline turns retry` has it go on']
    : (doubts ?? []).map(({ step, tool, effect }) => `step ${step} (${tool}, ${effect}) is in doubt`);
  return [...(error === null ? [] : [`${error.code}: ${error.message}`]), ...steps].join('; ');
}

const nowShape = z.object({ state: z.string(), turn: z.string().nullable() });

/** A retry keeps the turn, a rerun begins another, which has no id before a worker takes it. */
const resume =
  (how: 'retry' | 'rerun'): Act =>
  async (context, session, turn, { force }) => {
    const path = `/sessions/${session}/turns/${turn}/${how}`;
    const now = await post(context, path, nowShape, force && { force });
    const what = now.turn === null ? 'a new turn' : `the turn ${now.turn}`;
    context.output.note(`${session}: ${what} is ${now.state}`);
  };

const stopShape = z.object({ stopping: z.boolean(), stopped: z.boolean(), state: z.string() });

async function cancel(context: Context, session: string, turn: string | undefined): Promise<void> {
  const path = `/sessions/${session}/stop`;
  const { stopping, stopped, state } = await post(context, path, stopShape, turn === undefined ? {} : { turn });
  const what = turn === undefined ? 'the turn' : `the turn ${turn}`;
  if (stopping) context.output.note(`${session}: the worker was asked to end ${what}`);
  else if (stopped) context.output.note(`${session}: ${what} is cancelled`);
  else {
    const which = turn === undefined ? 'no turn is' : `the turn ${turn} is not`;
    throw new LedgerlineError('turn_over', `nothing to cancel: ${which} queued or under way in ${session} (${state})`);
  }
}

const acknowledge: Act = async (context, session, turn) => {
  await post(context, `/sessions/${session}/turns/${turn}/acknowledge`, z.object({}));
  context.output.note(`${session}: the failure of ${turn} is acknowledged`);
};
