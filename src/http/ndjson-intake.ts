/** Reads a request's lines as events: what waits is bounded, and why it ended is known behind the last good line. */
import type { IncomingMessage } from 'node:http';
import type { Clock, Timer } from '../base/clock.ts';
import { LedgerlineError } from '../base/errors.ts';
import { lineLimits } from '../base/line-limits.ts';
import { limits } from '../base/limits.ts';
import { parseEventText } from '../event/append-body.ts';
import type { NewEvent } from '../event/event.ts';
import { createLineCutter } from '../event/line-cutter.ts';
import type { Line } from '../event/line-cutter.ts';
import { told } from './problem.ts';

/** Why nothing more will come; `cut` when there is nobody to tell. */
export type Ending =
  | { readonly kind: 'complete' | 'draining' | 'idle' | 'cut' }
  | { readonly kind: 'refused'; readonly error: LedgerlineError };

export interface Intake {
  /** What has come since, at most an append's worth; waits for it. Then the ending, for good. */
  next(): Promise<readonly NewEvent[] | Ending>;
  /** Lets go of what waits: nobody will ask for it. */
  stop(): void;
}

export interface IntakeOptions {
  readonly incoming: IncomingMessage;
  readonly draining: AbortSignal;
  readonly clock: Clock;
  /** Of all intakes of this server [I6]. */
  readonly held: { bytes: number };
}

export function createIntake({ incoming, draining, clock, held }: IntakeOptions): Intake {
  const cutter = createLineCutter(lineLimits.lineBytes);
  let waiting: NewEvent[] = [];
  let waitingBytes = 0;
  /** Handed out and still being stored. */
  let flightBytes = 0;
  let countedBytes = 0;
  let heardMs = clock.now();
  let ending: Ending | undefined;
  let wake: (() => void) | undefined;

  const isFull = (): boolean =>
    waiting.length >= limits.eventsPerAppend || waitingBytes >= lineLimits.waitingLinesBytes;

  function take(lines: Iterable<Line>): void {
    for (const line of lines) {
      const event = parsed(line);
      waiting.push(event);
      waitingBytes += event.bytes;
    }
  }

  /** The lines before it are stored all the same, unless somebody waits for the end or nobody for an answer. */
  function end(why: Ending): void {
    if (ending !== undefined) return;
    ending = why;
    draining.removeEventListener('abort', onDraining);
    incoming.off('data', onData).off('end', onEnd).off('error', onCut).off('aborted', onCut).off('close', onCut);
    incoming.pause();
    if (why.kind === 'cut' || why.kind === 'draining') [waiting, waitingBytes] = [[], 0];
    count();
    wake?.();
  }

  function count(): void {
    const bytes = waitingBytes + flightBytes + (ending === undefined ? cutter.heldBytes : 0);
    held.bytes += bytes - countedBytes;
    countedBytes = bytes;
  }

  function attempt(read: () => void): void {
    try {
      read();
    } catch (thrown) {
      end({ kind: 'refused', error: told(thrown) });
    }
  }

  const onData = (chunk: Buffer): void => {
    heardMs = clock.now();
    attempt(() => take(cutter.cut(chunk)));
    if (ending !== undefined) return;
    count();
    if (held.bytes > lineLimits.heldLinesBytes) end({ kind: 'refused', error: tooMuchHeld() });
    if (isFull()) incoming.pause();
    if (waiting.length > 0) wake?.();
  };
  const onEnd = (): void => {
    attempt(() => take(cutter.end()));
    end({ kind: 'complete' });
  };
  const onCut = (): void => end({ kind: 'cut' });
  const onDraining = (): void => end({ kind: 'draining' });

  incoming.on('data', onData).on('end', onEnd).on('error', onCut).on('aborted', onCut).on('close', onCut);
  draining.addEventListener('abort', onDraining);
  if (incoming.destroyed) onCut();
  if (draining.aborted) onDraining();

  /** What waits, within the limits of one append; the first always goes. */
  function batch(): NewEvent[] {
    let bytes = 0;
    const over = waiting.findIndex((event, index) => {
      bytes += event.bytes;
      return index === limits.eventsPerAppend || (index > 0 && bytes > limits.appendBodyBytes);
    });
    const taken = waiting.splice(0, over < 0 ? waiting.length : over);
    for (const event of taken) waitingBytes -= event.bytes;
    return taken;
  }

  /** Until something waits or nothing will; nothing at all for too long is an ending, too. */
  async function more(): Promise<void> {
    let timer: Timer | undefined;
    const watch = (): void => {
      const idleMs = clock.now() - heardMs;
      if (idleMs >= lineLimits.ingressIdleMs) end({ kind: 'idle' });
      else timer = clock.after(lineLimits.ingressIdleMs - idleMs, watch);
    };
    // How long it took to store what came before is not the sender's silence.
    heardMs = clock.now();
    await new Promise<void>((resolve) => {
      wake = resolve;
      watch();
    });
    wake = undefined;
    timer?.cancel();
  }

  return {
    async next() {
      flightBytes = 0;
      while (waiting.length === 0 && ending === undefined) await more();
      const taken = batch();
      for (const event of taken) flightBytes += event.bytes;
      count();
      if (taken.length === 0 && ending !== undefined) return ending;
      if (ending === undefined && !isFull()) incoming.resume();
      return taken;
    },
    stop() {
      end({ kind: 'cut' });
      [waiting, waitingBytes, flightBytes] = [[], 0, 0];
      count();
    },
  };
}

function parsed({ number, text }: Line): NewEvent {
  try {
    return parseEventText(text);
  } catch (thrown) {
    const { code, message, fields } = told(thrown);
    throw new LedgerlineError(code, `line ${number}: ${message}`, { ...fields, line: number }, thrown);
  }
}

const tooMuchHeld = (): LedgerlineError =>
  new LedgerlineError('unavailable', 'streams of events hold as much as this server can; this line was not stored');
