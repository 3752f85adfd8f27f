/** `ledgerline turns resolve`: a person says what became of a call that nobody else can tell of. */
import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import { LedgerlineError } from '../base/errors.ts';
import { LAST_STEP_INDEX, topicShape } from '../event/step-id.ts';
import { turnIdShape } from '../event/turn-id.ts';
import { checked, sessionArgument } from './arguments.ts';
import { post } from './client.ts';
import type { Context } from './context.ts';

interface Delivery {
  readonly topic: string;
  readonly payload: unknown;
}

interface ResolveOptions {
  /** True: done, and there is no result. */
  readonly done?: true | { readonly result: unknown };
  readonly notDone?: true;
  readonly deliver: readonly Delivery[];
  readonly resume?: true;
}

export function resolveCommand(context: Context): Command {
  return new Command('resolve')
    .summary('say what became of a step in doubt')
    .description(
      'Says what became of a step in doubt, which `ledgerline turns` lists. Done: the journal gets the result, as if the call had ' +
        'returned it, and the call is never made again. Not done: the call is made when the turn goes on. Ask whoever the call went ' +
        'to, and not the worker.',
    )
    .addArgument(sessionArgument())
    .addArgument(new Argument('<turn>', 'its id').argParser(checked(turnIdShape)))
    .addArgument(new Argument('<step>', 'its index in the journal').argParser(indexOf))
    .addOption(new Option('--done [json]', 'it happened, with this result (default: null)').argParser(resultOf))
    .addOption(new Option('--not-done', 'it did not happen, and may be done').conflicts('done'))
    .addOption(
      new Option('--deliver <topic=json>', 'what others are to be told because it happened; may be repeated')
        .argParser(withDelivery)
        .default([], 'nothing'),
    )
    .option('--resume', 'have the turn go on, unless another of its steps is in doubt')
    .addHelpText(
      'after',
      `
Examples:
  ledgerline turns resolve run-42 0b6c1d1e-6f0e-4c52-9a51-1d0b7f4f7a11 2 --done '{"charge":"ch_1"}' --resume
  ledgerline turns resolve run-42 0b6c1d1e-6f0e-4c52-9a51-1d0b7f4f7a11 2 --done --deliver 'refund.issued={"cents":4000}'
  ledgerline turns resolve run-42 0b6c1d1e-6f0e-4c52-9a51-1d0b7f4f7a11 2 --not-done --resume
`,
    )
    .action((session: string, turn: string, step: number, options: ResolveOptions) =>
      resolve(context, session, turn, step, options),
    );
}

async function resolve(
  context: Context,
  session: string,
  turn: string,
  step: number,
  { done, notDone, deliver, resume }: ResolveOptions,
): Promise<void> {
  if (done === undefined && notDone === undefined) {
    throw new LedgerlineError(
      'configuration',
      'say what became of the step: --done, with its result if it has one, or --not-done',
    );
  }
  if (done === undefined && deliver.length > 0) {
    throw new LedgerlineError('configuration', 'what did not happen has nothing to deliver: leave --deliver out');
  }
  const verdict =
    done === undefined
      ? { outcome: 'not_done' }
      : { outcome: 'done', result: done === true ? null : done.result, deliveries: deliver };
  const path = `/sessions/${session}/turns/${turn}/steps/${step}/resolve`;
  await post(context, path, z.object({}), { ...verdict, resume: resume === true });
  const what = `${session}: step ${step} of ${turn} is resolved as ${done === undefined ? 'not done' : 'done'}`;
  context.output.note(
    resume === true
      ? `${what}; the turn goes on, unless another of its steps is in doubt`
      : `${what}; \`ledgerline turns retry ${session} ${turn}\` has the turn go on`,
  );
}

function indexOf(text: string): number {
  const index = Number(text);
  if (/^(?:0|[1-9][0-9]{0,9})$/.test(text) && index < LAST_STEP_INDEX) return index;
  throw new InvalidArgumentError('It is the index of a step, from 0.');
}

const resultOf = (text: string): { readonly result: unknown } => ({ result: jsonOf(text) });

function withDelivery(text: string, before: readonly Delivery[]): readonly Delivery[] {
  const cut = text.indexOf('=');
  const { data: topic } = topicShape.safeParse(text.slice(0, Math.max(cut, 0)));
  if (topic === undefined) throw new InvalidArgumentError('It is a topic and JSON: refund.issued={"cents":4000}.');
  return [...before, { topic, payload: jsonOf(text.slice(cut + 1)) }];
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new InvalidArgumentError('It is JSON, in which a text has quotes: \'{"id":"re_1"}\' or \'"re_1"\'.');
  }
}
