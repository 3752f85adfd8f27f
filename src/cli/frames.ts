/** Turns the text of a stream, in whatever pieces it comes, into events in order and the few things a control frame can mean. */
import { createParser } from 'eventsource-parser';
import type { EventSourceMessage, ParseError } from 'eventsource-parser';
import { z } from 'zod';
import { LedgerlineError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';

/** What one piece of text brought. Events that arrived together stay together. */
export type Arrival =
  | { readonly kind: 'events'; readonly envelopes: readonly string[]; readonly cursor: string }
  /** hello, connected, sync: the cursor, and that the stream is served. */
  | { readonly kind: 'position'; readonly cursor: string }
  | { readonly kind: 'reset'; readonly cursor: string; readonly reason: string }
  | { readonly kind: 'goaway'; readonly cursor: string }
  | { readonly kind: 'end'; readonly reason: string }
  | { readonly kind: 'denied'; readonly reason: string };

export interface FrameReader {
  /** Throws when the text can be no stream of Ledgerline's. */
  read(text: string): Arrival[];
  /** The last wait that the server asked for. */
  readonly retryMs: number | undefined;
}

const reasonShape = z.object({ reason: z.string() });

export function createFrameReader(): FrameReader {
  let arrived: Arrival[] = [];
  let retryMs: number | undefined;
  let failure: ParseError | undefined;

  const parser = createParser({
    // Twice what the largest event needs: a frame without an end must not fill the memory.
    maxBufferSize: limits.payloadBytes * 2,
    onRetry: (milliseconds) => (retryMs = milliseconds),
    onEvent: (message) => arrived.push(arrival(message)),
    onError: (error) => {
      // An unknown field is the only thing that a later release may add.
      if (error.type !== 'unknown-field') failure = error;
    },
  });

  return {
    read(text) {
      arrived = [];
      parser.feed(text);
      if (failure !== undefined)
        throw new LedgerlineError('internal', `this is no stream of Ledgerline's: ${failure.message}`);
      return together(arrived);
    },
    get retryMs() {
      return retryMs;
    },
  };
}

function arrival(message: EventSourceMessage): Arrival {
  const cursor = message.id ?? '';
  const reason = () => reasonShape.parse(JSON.parse(message.data)).reason;
  switch (message.event) {
    case undefined:
      return { kind: 'events', envelopes: [message.data], cursor };
    case 'reset':
      return { kind: 'reset', cursor, reason: reason() };
    case 'end':
      return { kind: 'end', reason: reason() };
    case 'denied':
      return { kind: 'denied', reason: reason() };
    case 'goaway':
      return { kind: 'goaway', cursor };
    default:
      return { kind: 'position', cursor };
  }
}

/** Neighbouring events as one arrival, so that they are written in one go. */
function together(arrivals: readonly Arrival[]): Arrival[] {
  const joined: Arrival[] = [];
  let envelopes: string[] = [];
  for (const [index, current] of arrivals.entries()) {
    if (current.kind !== 'events') {
      joined.push(current);
      continue;
    }
    envelopes.push(...current.envelopes);
    if (arrivals[index + 1]?.kind === 'events') continue;
    joined.push({ kind: 'events', envelopes, cursor: current.cursor });
    envelopes = [];
  }
  return joined;
}
