/** `ledgerline append`: each line of standard input becomes an event, in order, as it comes. */
import { Command } from 'commander';
import { z } from 'zod';
import { limits } from '../base/limits.ts';
import { eventTypeShape } from '../event/event.ts';
import { producerIdShape } from '../event/producer.ts';
import { next, toCursor } from '../event/sequence.ts';
import { createProducer } from '../producer/producer.ts';
import type { Producer } from '../producer/producer.ts';
import { checkPayload, explained, interrupted } from './append-line.ts';
import { checked, sessionArgument } from './arguments.ts';
import { internalTarget, request } from './client.ts';
import type { Context } from './context.ts';
import { readLines } from './lines.ts';
import { storedCounter } from './stored-counter.ts';

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
      'who appends; the same id again goes on behind what it has stored (default: a fresh id)',
      checked(producerIdShape),
    )
    .addHelpText(
      'after',
      `
Examples:
  echo '{"text":"hello"}' | ledgerline append demo --type note
  my-agent --json | ledgerline append run-42 --type text.delta --producer my-agent
`,
    )
    .action((session: string, options: AppendOptions) => append(context, session, options));
}

const headShape = z.object({ head: z.number() });

async function append(context: Context, session: string, options: AppendOptions): Promise<void> {
  const target = await internalTarget(context);
  const creation = { method: 'POST', path: '/sessions', body: { session }, stop: context.stop } as const;
  const { head } = headShape.parse(await request(target, creation));
  const counter = (await storedCounter(target, session, options.producer, context.stop)) + 1;
  const producer = createProducer({
    url: target.url,
    key: target.credential,
    session,
    sequence: counter,
    ...(options.producer === undefined ? {} : { producer: options.producer }),
    // The next line, at which it would show, may be hours away.
    onError: (error) => void context.input.destroy(error),
  });
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

/** The numbers are this command's alone when they add up; else others have appended in between. */
function summary(count: number, head: number, last: number | undefined): string {
  const events = `appended ${count} ${count === 1 ? 'event' : 'events'}`;
  if (count === 0 || last === undefined) return events;
  const range = `${next(toCursor(head))}…${last}`;
  return last === head + count ? `${events}, ${range}` : `${events}, among ${range}`;
}
