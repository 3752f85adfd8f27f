/** One visit of the stream: from the request to its end, whatever ends it. */
import { placeOf } from './arithmetic.ts';
import { FollowError } from './follow-error.ts';
import { createFrameReader } from './frames.ts';
import type { Arrival } from './frames.ts';
import { compareHeads } from './head-comparison.ts';
import { openLine } from './line.ts';
import type { End, Fault, Recipient, WaitCause } from './recipient.ts';
import type { SessionEvent } from './session-event.ts';
import type { SessionServer } from './session-server.ts';
import { settle } from './settle.ts';
import type { Surroundings } from './surroundings.ts';

/** A visit that is to be followed by another. */
export interface Lost {
  readonly kind: 'lost';
  readonly cause: WaitCause;
  /** How far it came. `steady`: caught up, for longer than a fault needs to show again. */
  readonly reached: 'nothing' | 'hello' | 'connected' | 'steady';
  /** The least wait, or the very one if it is exact. */
  readonly waitMs: number;
  readonly isExact: boolean;
}

/** Undefined: it goes on. */
type Outcome = End | Lost | undefined;

const STEADY_MS = 60_000;

/** Never rejects. */
export async function visitStream(
  server: SessionServer,
  surroundings: Surroundings,
  recipient: Recipient,
  stop: AbortSignal,
): Promise<End | Lost> {
  const { clock } = surroundings;
  const { cursor: asked } = recipient;
  const line = openLine(clock, stop);
  const frames = createFrameReader();
  /** The cursor, with the events of the batch in hand; undefined before the stream is served. */
  let place: number | undefined;
  let batch: SessionEvent[] = [];
  let connectedAtMs: number | undefined;
  let isComparing = false;

  const stopListening = surroundings.onWake((wake) => {
    if (wake === 'asked') line.sever(wake);
    else if (place !== undefined) void compare();
    // What was asked for over the network from before may never be answered.
    else if (wake !== 'visible') line.sever('unreachable');
  });
  try {
    return await read();
  } finally {
    stopListening();
    line.close();
  }

  async function compare(): Promise<void> {
    if (isComparing) return;
    isComparing = true;
    await compareHeads(server, clock, recipient, line);
    isComparing = false;
  }

  async function read(): Promise<End | Lost> {
    const opened = await settle(server.open(asked, line.signal), line.signal);
    if (opened.kind === 'thrown') return broken(opened.cause);
    if (opened.kind === 'aborted') return broken();
    const { status, body } = opened.value;
    if (status === 204) return over('closed');
    if (body === null) return broken();
    const reader = body.getReader();
    // Where `fetch` is the platform's own, the abort ends it too.
    line.signal.addEventListener('abort', () => void reader.cancel().catch(() => undefined));
    const decoder = new TextDecoder('utf-8', { fatal: true });
    for (;;) {
      const chunk = await settle(reader.read(), line.signal);
      if (chunk.kind !== 'value' || chunk.value.done) return broken();
      line.beat();
      const outcome = await take(arrivalsOf(decoder, chunk.value.value));
      if (outcome) return outcome;
    }
  }

  function arrivalsOf(decoder: TextDecoder, bytes: Uint8Array): readonly Arrival[] {
    let text: string;
    try {
      text = decoder.decode(bytes, { stream: true });
    } catch {
      // Bytes that are no UTF-8 are never mended: the text would not be what was appended.
      return [{ kind: 'malformed' }];
    }
    return frames.read(text);
  }

  async function take(arrivals: readonly Arrival[]): Promise<Outcome> {
    for (const arrival of arrivals) {
      if (arrival.kind === 'event' && place !== undefined && placeOf(place, arrival.event.sequence) === 'next') {
        batch.push(arrival.event);
        place = arrival.event.sequence;
        continue;
      }
      const outcome = (await deliver()) ?? react(arrival);
      if (outcome) return outcome;
    }
    return deliver();
  }

  async function deliver(): Promise<Outcome> {
    if (batch.length > 0) {
      const events = batch;
      batch = [];
      line.pause();
      // A consumer that is still at work when the line is severed is waited for: it would be given the same again.
      const taken = await settle(Promise.resolve(recipient.events(events)), stop);
      if (taken.kind === 'thrown') return failed(taken.cause);
      line.beat();
    }
    return line.signal.aborted ? broken() : undefined;
  }

  /** To anything but the next event. */
  function react(arrival: Arrival): Outcome {
    const { kind } = arrival;
    if (kind === 'reset') {
      const { reason, cursor, head } = arrival;
      recipient.reset({ reason, cursor, head });
      if (place === undefined) recipient.hello(cursor, head);
      place = cursor;
      return undefined;
    }
    if (kind === 'hello' && place === undefined) {
      const { cursor, head } = arrival;
      // From elsewhere than asked: only a `reset` behind it explains that, and anything else is out of place then.
      if (asked !== 'head' && asked !== cursor) return undefined;
      recipient.hello(cursor, head);
      place = cursor;
      return undefined;
    }
    if (place === undefined || kind === 'malformed' || kind === 'hello') return fault('malformed');
    if (kind === 'event') return fault(arrival.event.sequence > place ? 'gap' : 'repeat', arrival.event.sequence);
    // The cursor as the server believes it to be: what it sent and this side did not get.
    if (arrival.cursor !== place) return fault(arrival.cursor > place ? 'gap' : 'malformed');
    switch (kind) {
      case 'connected':
        connectedAtMs = clock.now();
        recipient.connected(arrival.head);
        return undefined;
      case 'sync':
        recipient.head(arrival.head);
        return undefined;
      case 'goaway':
        return lost('draining', frames.retryMs, frames.retryMs !== undefined);
      case 'end':
        return over(arrival.reason);
      case 'denied':
        return server.renewToken()
          ? lost('token', 0, true)
          : refused(new FollowError('refused', 'the token is over', { status: 401, problem: 'unauthorized' }));
    }
  }

  /** There is nothing more to read, by an error or by what this side did. */
  function broken(error?: unknown): End | Lost {
    const { severed } = line;
    if (stop.aborted) return { kind: 'aborted' };
    // What this side ended for something better comes back at once.
    if (severed) return severed === 'silent' ? lost(severed) : lost(severed, 0, true);
    if (error === undefined) return lost(place === undefined ? 'unreachable' : 'cut');
    if (!(error instanceof FollowError)) return failed(error);
    if (error.problem === 'session_deleted') return over('deleted');
    if (error.code === 'token') return lost('token');
    return error.code === 'unavailable' ? lost('unreachable', error.retryAfterMs) : refused(error);
  }

  function fault(kind: Fault['kind'], got?: number): Lost {
    const expected = (place ?? (Number(asked) || 0)) + 1;
    recipient.fault({ kind, expected, ...(got !== undefined && { got }) });
    return lost('fault');
  }

  function lost(cause: WaitCause, waitMs = frames.retryMs ?? 0, isExact = false): Lost {
    let reached: Lost['reached'] = place === undefined ? 'nothing' : 'hello';
    if (connectedAtMs !== undefined) reached = clock.now() - connectedAtMs > STEADY_MS ? 'steady' : 'connected';
    return { kind: 'lost', cause, reached, waitMs, isExact };
  }
}

const over = (reason: 'closed' | 'deleted'): End => ({ kind: 'ended', reason });

const refused = (error: FollowError): End => ({ kind: 'refused', error });

/** Neither the network's fault nor the server's. */
const failed = (cause: unknown): End => refused(new FollowError('failed', 'this side threw', { cause }));
