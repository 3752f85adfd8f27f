/** Appends an attempt's events under its fence: in order, each once, in batches, one in flight. */
import { assert } from '../base/assert.ts';
import { LedgerlineError } from '../base/errors.ts';
import { isDelta } from '../event/event.ts';
import type { NewEvent } from '../event/event.ts';
import { eventText, payloadOf } from '../producer/event-text.ts';
import { ProducerError } from '../producer/producer-error.ts';
import { createSender } from '../producer/sender.ts';
import type { Outcome } from '../ledger/ledger.ts';
import type { Sessions } from '../session/sessions.ts';
import type { Attempt } from '../turn/turns.ts';
import type { Lease } from './lease.ts';
import { repeat } from './repeat.ts';
import type { RepeatOptions } from './repeat.ts';
import { TurnAborted } from './turn-aborted.ts';

export interface TurnWriterOptions extends RepeatOptions {
  readonly attempt: Attempt;
  readonly sessions: Pick<Sessions, 'append'>;
  readonly lease: Lease;
  /** The ledger says that the turn is not this attempt's any more. */
  readonly onLost: () => void;
}

export interface TurnWriter {
  /** Throws, and takes nothing, if the event is not acceptable or the writer has failed; the promise is about room. */
  append(type: string, data: unknown, mayWait?: boolean): Promise<void>;
  flush(): Promise<void>;
}

/** From so many unstored bytes on, whoever appends waits. */
const BUFFER_BYTES = 4 * 1_024 * 1_024;

export function createTurnWriter(options: TurnWriterOptions): TurnWriter {
  const { clock, sessions, lease, signal, attempt } = options;
  const { session, turn, attempt: fence } = attempt;
  // A counter of its own, so that an append whose answer was lost can be repeated [I8].
  const id = `turn:${turn}:${fence}`;

  async function sendOnce(events: readonly NewEvent[], offset: number): Promise<{ last: number }> {
    const sentMs = clock.now();
    const producer = { id, sequence: offset + 1 };
    const outcome = await sessions.append({ session, events, producer, fence: { turn, attempt: fence } });
    const last = judge(outcome);
    if (outcome.kind === 'appended') lease.extend(sentMs);
    return { last };
  }

  function judge(outcome: Outcome): number {
    switch (outcome.kind) {
      case 'appended':
      case 'duplicate':
        return outcome.last;
      case 'busy':
        throw new LedgerlineError('session_busy', 'the session is locked by somebody else; nothing was stored');
      case 'refused':
        throw new LedgerlineError('malformed', outcome.reason, { where: 'data' });
      case 'fenced':
      case 'closed':
      case 'deleted':
      case 'unknown_session':
        options.onLost();
        throw new TurnAborted('lost');
      case 'conflict':
      case 'overlap':
      case 'wrong_head':
        // Nobody else counts under this name, and nothing was said about the head.
        assert(false, `an attempt's append came out as ${outcome.kind}`);
    }
  }

  const sender = createSender({
    clock,
    sleep: options.sleep,
    signal,
    bufferBytes: BUFFER_BYTES,
    prepare: () => Promise.resolve(),
    send: (texts, offset) => repeat(() => sendOnce(texts.map(toEvent), offset), options),
    onFailure: () => undefined, // whoever appends or flushes next meets it
  });

  return {
    append(type, data, mayWait = isDelta(type)) {
      const text = eventText(type, payloadOf(data));
      try {
        return sender.take(text, mayWait).catch(own);
      } catch (thrown) {
        return own(thrown);
      }
    },
    flush: () => sender.flush().then(() => undefined, own),
  };
}

/** The sender speaks of producers; what it met is behind that. */
function own(thrown: unknown): never {
  throw thrown instanceof ProducerError && thrown.cause !== undefined ? thrown.cause : thrown;
}

/** Of a text that `eventText` made; a type holds no quote. */
function toEvent(text: string): NewEvent {
  const middle = '","data":';
  const end = text.indexOf(middle);
  const data = text.slice(end + middle.length, -1);
  return { type: text.slice('{"type":"'.length, end), data, bytes: Buffer.byteLength(data) };
}

export const newEvent = (type: string, data: unknown): NewEvent => toEvent(eventText(type, payloadOf(data)));
