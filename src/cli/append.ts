/** `ledgerline append`: each line of standard input becomes an event, in order, as it comes. */
import { Command } from 'commander';
import { z } from 'zod';
import { LedgerlineError, toError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { eventTypeShape } from '../event/event.ts';
import { producerIdShape } from '../event/producer.ts';
import { next, toCursor } from '../event/sequence.ts';
import { checkDepth } from '../event/slice.ts';
import { createProducer } from '../producer/producer.ts';
import type { Producer } from '../producer/producer.ts';
import { ProducerError } from '../producer/producer-error.ts';
import { checked, sessionArgument } from './arguments.ts';
import { internalTarget, request } from './client.ts';
import type { Context } from './context.ts';
import { readLines } from './lines.ts';

interface AppendOptions {
  readonly type: string;
  readonly producer?: string;
}

export function appendCommand(context: Context): Command {
  return new Command('append')
    .summary('append each line of standard input as an event')
    .description(
      'Reads lines of JSON and appends each as the data of one event, in order and as they come; empty lines are left out. ' +
        'Creates the session. Types that end in ".delta" travel in small batches, all others at once. A line that cannot ' +
        'be appended ends the command; the lines before it are stored.',
    )
    .addArgument(sessionArgument())
    .requiredOption('-t, --type <type>', 'the type of every event', checked(eventTypeShape))
    .option(
      '--producer <id>',
      'who appends; the same id twice is refused as a repeat (default: a fresh id)',
      checked(producerIdShape),
    )
    .addHelpText(
      'after',
      `
Examples:
  echo '{"text":"hello"}' | ledgerline append demo --type note
  my-agent --json | ledgerline append run-42 --type text.delta
`,
    )
    .action((session: string, options: AppendOptions) => append(context, session, options));
}

const headShape = z.object({ head: z.number() });

async function append(context: Context, session: string, options: AppendOptions): Promise<void> {
  const target = await internalTarget(context);
  const creation = { method: 'POST', path: '/sessions', body: { session }, stop: context.stop } as const;
  const { head } = headShape.parse(await request(target, creation));
  const producer = createProducer({
    url: target.url,
    key: target.credential,
    session,
    ...(options.producer === undefined ? {} : { producer: options.producer }),
    // The next line, at which it would show, may be hours away.
    onError: (error) => void context.input.destroy(error),
  });
  const counter = producer.sequence;
  let failure: unknown;
  let last: number | undefined;
  const fail = (thrown: unknown) => void (failure ??= thrown);
  await appendLines(context, producer, options.type).catch(fail);
  // Whatever ended the lines, those before it are stored.
  await producer.close().then((stored) => (last = stored.last), fail);
  context.output.note(summary(producer.sequence - counter, head, last));
  if (failure !== undefined) throw explained(failure);
}

async function appendLines({ input, stop }: Context, producer: Producer, type: string): Promise<void> {
  const stopReading = () => void input.destroy(interrupted());
  stop.addEventListener('abort', stopReading, { once: true });
  try {
    for await (const { number, text } of readLines(input, limits.payloadBytes)) {
      checkPayload(number, text);
      await producer.appendRaw(type, text);
    }
  } finally {
    stop.removeEventListener('abort', stopReading);
  }
}

const interrupted = () => new LedgerlineError('unavailable', 'interrupted before the end of the input');

/** Before it travels, since one bad event would take its whole batch along. */
function checkPayload(number: number, text: string): void {
  try {
    JSON.parse(text);
    checkDepth(text);
  } catch (thrown) {
    throw new LedgerlineError('malformed', `line ${number} cannot be appended: ${toError(thrown).message}`, {
      line: number,
    });
  }
}

/** The numbers are this command's alone when they add up; else others have appended in between. */
function summary(count: number, head: number, last: number | undefined): string {
  const events = `appended ${count} ${count === 1 ? 'event' : 'events'}`;
  if (count === 0 || last === undefined) return events;
  const range = `${next(toCursor(head))}…${last}`;
  return last === head + count ? `${events}, ${range}` : `${events}, among ${range}`;
}

function explained(thrown: unknown): unknown {
  if (!(thrown instanceof ProducerError)) return thrown;
  return new LedgerlineError('unavailable', `${thrown.message} (${thrown.code})`, {}, thrown);
}
