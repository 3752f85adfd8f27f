/** `ledgerline play`: a recorded run becomes events again, at a rate of your choice, and goes on where it was stopped. */
import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { Argument, Command, InvalidArgumentError } from 'commander';
import { sleep } from '../base/clock.ts';
import { LedgerlineError, toError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { eventTypeShape, sessionIdShape } from '../event/event.ts';
import { producerIdShape } from '../event/producer.ts';
import { createProducer } from '../producer/producer.ts';
import type { Producer } from '../producer/producer.ts';
import { checkPayload, explained, interrupted } from './append-line.ts';
import { checked } from './arguments.ts';
import { internalTarget, request } from './client.ts';
import type { Context } from './context.ts';
import { readLines } from './lines.ts';
import { createPace } from './pace.ts';
import { createProgress } from './progress.ts';
import type { Progress } from './progress.ts';
import { storedCounter } from './stored-counter.ts';

interface PlayOptions {
  readonly session: string;
  readonly type: string;
  readonly rate?: number;
  readonly producer?: string;
}

export function playCommand(context: Context): Command {
  return new Command('play')
    .summary('play a recorded run into a session')
    .description(
      'Reads a file of JSON texts, one a line, and appends each as the data of one event, in order. Creates the session. ' +
        'With --producer the same command goes on behind what is stored: the lines of the file are that producer’s events.',
    )
    .addArgument(new Argument('<file>', 'the recorded run, or - for standard input'))
    .requiredOption('-s, --session <id>', 'the session that gets the events', checked(sessionIdShape))
    .requiredOption('-t, --type <type>', 'the type of every event', checked(eventTypeShape))
    .option('--rate <n>', 'events a second (default: as fast as they are taken)', rateOption)
    .option('--producer <id>', 'who appends (default: a fresh id, from the first line)', checked(producerIdShape))
    .addHelpText(
      'after',
      `
Examples:
  ledgerline play run.ndjson --session replay-1 --type text.delta --rate 60
  ledgerline play run.ndjson --session replay-1 --type text.delta --producer replay-1
`,
    )
    .action((file: string, options: PlayOptions) => play(context, file, options));
}

async function play(context: Context, file: string, { session, type, rate, producer: id }: PlayOptions): Promise<void> {
  const { stop } = context;
  const source = await recording(context, file);
  const target = await internalTarget(context);
  await request(target, { method: 'POST', path: '/sessions', body: { session }, stop });
  const played = await storedCounter(target, session, id, stop);
  const first = played + 1;
  const failed = new AbortController();
  let failure: unknown;
  const fail = (thrown: unknown) => void (failure ??= thrown);
  const producer = createProducer({
    url: target.url,
    key: target.credential,
    session,
    sequence: first,
    ...(id === undefined ? {} : { producer: id }),
    // The next line, at which it would show, may be a while away.
    onError(error) {
      fail(error);
      failed.abort();
    },
  });
  if (played > 0) context.output.note(`goes on behind ${count(played)} that ${played === 1 ? 'is' : 'are'} stored`);
  const progress = createProgress(context, () => `played ${count(producer.sequence - first)}`);
  const until = AbortSignal.any([stop, failed.signal]);
  // The next line may be a while away, too.
  until.addEventListener('abort', () => source.destroy(interrupted()), { once: true });
  await playLines(readLines(source, limits.payloadBytes), producer, {
    type,
    played,
    rate,
    until,
    progress,
    context,
  }).catch(fail);
  // Whatever ended the lines, those before it are stored.
  const { last } = await producer.close().catch((thrown: unknown) => (fail(thrown), { last: 0 }));
  progress.end();
  const events = producer.sequence - first;
  context.output.note(`played ${count(events)}${events > 0 && last > 0 ? `, up to sequence ${last}` : ''}`);
  if (failure === undefined) return;
  if (stop.aborted && id !== undefined)
    context.output.note(`the same command goes on behind ${count(played + events)}`);
  throw explained(failure);
}

interface Playing {
  readonly type: string;
  readonly played: number;
  readonly rate: number | undefined;
  readonly until: AbortSignal;
  readonly progress: Progress;
  readonly context: Context;
}

async function playLines(
  lines: ReturnType<typeof readLines>,
  producer: Producer,
  { type, played, rate, until, progress, context: { clock } }: Playing,
): Promise<void> {
  const pace = createPace(rate, clock.now());
  let index = 0;
  for await (const { number, text } of lines) {
    if (until.aborted) throw interrupted();
    index += 1;
    if (index <= played) continue;
    checkPayload(number, text);
    const delayMs = pace.next(clock.now());
    if (delayMs > 0) await sleep(delayMs, until);
    if (until.aborted) throw interrupted();
    await producer.appendRaw(type, text);
    progress.moved();
  }
  if (index < played) {
    throw new LedgerlineError(
      'malformed',
      `${count(played)} are stored, and the file has only ${index}: is it another run?`,
    );
  }
}

const count = (events: number): string => `${events} ${events === 1 ? 'event' : 'events'}`;

async function recording(context: Context, file: string): Promise<Readable> {
  if (file === '-') return context.input;
  try {
    return (await open(file)).createReadStream();
  } catch (error) {
    throw new LedgerlineError('configuration', `the recording cannot be read: ${toError(error).message}`, {}, error);
  }
}

function rateOption(text: string): number {
  const rate = /^[0-9]{1,6}(?:\.[0-9]{1,3})?$/.test(text) ? Number(text) : 0;
  if (rate > 0) return rate;
  throw new InvalidArgumentError('It is a number of events a second, such as 60 or 0.5.');
}
