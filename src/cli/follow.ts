/** Follows a session over SSE for as long as it takes: through cuts, restarts and silence, from the last event written. */
import { backoffMs } from '../base/backoff.ts';
import { sleep } from '../base/clock.ts';
import type { Clock } from '../base/clock.ts';
import { LedgerlineError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { noAnswer, refusal } from './client.ts';
import type { Target } from './client.ts';
import { createFrameReader } from './frames.ts';
import type { Arrival } from './frames.ts';

export interface FollowOptions {
  readonly session: string;
  /** Where to begin: a sequence, `head`, or else the start. */
  readonly after: string | undefined;
  /** Asked before every connection: a development server may come back on other ports. */
  readonly target: () => Promise<Target>;
  /** Envelopes exactly as they arrived. Nothing more is read before it resolves; false ends the following. */
  readonly onEvents: (envelopes: readonly string[]) => Promise<boolean>;
  readonly note: (text: string) => void;
  readonly stop: AbortSignal;
  readonly clock: Clock;
  /** Silence for so long means that the connection is dead. */
  readonly silenceMs?: number;
}

export type FollowEnd = { readonly kind: 'end'; readonly reason: string } | { readonly kind: 'stopped' };

interface Position {
  /** The last id that a frame carried; an event's counts when the event has been written out. */
  cursor: string | undefined;
}

/** What became of one connection. */
type Visit =
  | FollowEnd
  | { readonly kind: 'cut'; readonly why: string; readonly isServed: boolean; readonly waitMs: number };

/** Past this the wait after failures grows no more. */
const LONGEST_WAIT_MS = 10_000;

/** Throws what no later try can change: a token that does not reach the session, a session that is gone. */
export async function follow(options: FollowOptions): Promise<FollowEnd> {
  const { clock, note, stop } = options;
  const position: Position = { cursor: undefined };
  let failures = 0;
  while (!stop.aborted) {
    const visit = await visitOnce(options, position);
    if (visit.kind !== 'cut') return visit;
    if (visit.isServed) note(`${visit.why}; going on after ${position.cursor ?? 'the start'}`);
    else if (failures === 0) note(`${sentence(visit.why)} Trying again until it answers.`);
    const backedOffMs = visit.isServed
      ? 0
      : backoffMs({ firstMs: 1_000, capMs: LONGEST_WAIT_MS }, failures, clock.random());
    failures = visit.isServed ? 0 : failures + 1;
    await sleep(Math.max(visit.waitMs, backedOffMs), stop);
  }
  return { kind: 'stopped' };
}

async function visitOnce(options: FollowOptions, position: Position): Promise<Visit> {
  const target = await options.target();
  const line = openLine(options);
  try {
    const opened = await settle(fetch(streamUrl(target, options, position), request(target, position, line.signal)));
    if (!opened.isKept) return lost(opened.thrown, { isServed: false, waitMs: 0 });
    const response = opened.value;
    if (response.status === 204) return { kind: 'end', reason: 'closed' };
    if (!response.ok) return await answerFor(response);
    // Somebody else's 200 would be cut, and cut again, for ever.
    if (response.body === null || !isStream(response)) throw await refusal(response);
    return await readStream(response.body);
  } finally {
    line.close();
  }

  async function readStream(body: ReadableStream<Uint8Array>): Promise<Visit> {
    const frames = createFrameReader();
    const decoder = new TextDecoder();
    const reader = body.getReader();
    let isServed = false;
    let isDraining = false;
    for (;;) {
      const read = await settle(reader.read());
      const terms = () => ({ isServed, waitMs: frames.retryMs ?? limits.retryMs });
      if (!read.isKept) return lost(read.thrown, terms());
      if (read.value.done) {
        return { kind: 'cut', why: isDraining ? 'the server is going away' : 'the stream was cut', ...terms() };
      }
      line.pause();
      for (const arrival of frames.read(decoder.decode(read.value.value, { stream: true }))) {
        isServed = true;
        isDraining ||= arrival.kind === 'goaway';
        const end = await take(arrival);
        if (end !== undefined) return end;
      }
      line.resume();
    }
  }

  async function take(arrival: Arrival): Promise<FollowEnd | undefined> {
    if (arrival.kind === 'events') {
      const isTaken = await unlessAborted(options.onEvents(arrival.envelopes), options.stop);
      if (isTaken !== true) return { kind: 'stopped' };
    }
    if (arrival.kind === 'end') return arrival;
    if (arrival.kind === 'denied') {
      throw new LedgerlineError(
        'unauthorized',
        `the token is ${arrival.reason}; the last event was ${position.cursor ?? 'none'}`,
      );
    }
    if (arrival.kind === 'reset') options.note(`reset (${arrival.reason}): the stream goes on after ${arrival.cursor}`);
    position.cursor = arrival.cursor;
    return undefined;
  }

  function lost(thrown: unknown, terms: { isServed: boolean; waitMs: number }): Visit {
    if (options.stop.aborted) return { kind: 'stopped' };
    if (line.isSilent()) return { kind: 'cut', why: 'nothing came for too long', ...terms };
    return {
      kind: 'cut',
      why: terms.isServed ? 'the connection was lost' : noAnswer(target.url, thrown).message,
      ...terms,
    };
  }
}

/** A connection's way to be ended from here: by the person, by silence, or because it is done with. */
function openLine({ stop, clock, silenceMs = limits.syncMs * 2.5 }: FollowOptions) {
  const controller = new AbortController();
  const hangUp = () => controller.abort();
  let isSilent = false;
  const watch = () =>
    clock.after(silenceMs, () => {
      isSilent = true;
      hangUp();
    });
  let silence = watch();
  if (stop.aborted) hangUp();
  stop.addEventListener('abort', hangUp, { once: true });
  return {
    signal: controller.signal,
    isSilent: () => isSilent,
    /** While what came is written out, silence is ours. */
    pause: () => silence.cancel(),
    resume: () => (silence = watch()),
    close(): void {
      silence.cancel();
      stop.removeEventListener('abort', hangUp);
      hangUp();
    },
  };
}

function streamUrl(target: Target, { session, after }: FollowOptions, { cursor }: Position): string {
  const query = cursor === undefined && after !== undefined ? `?after=${encodeURIComponent(after)}` : '';
  return `${target.url}/sessions/${encodeURIComponent(session)}/stream${query}`;
}

function request(target: Target, { cursor }: Position, signal: AbortSignal): RequestInit {
  return {
    signal,
    headers: {
      accept: 'text/event-stream',
      authorization: `Bearer ${target.credential}`,
      // Real status codes, instead of the 200 that keeps a browser coming back [spec: RFC 7240].
      prefer: 'handling=strict',
      ...(cursor === undefined ? {} : { 'last-event-id': cursor }),
    },
  };
}

const sentence = (text: string): string => (/[.?]$/.test(text) ? text : `${text}.`);

const isStream = ({ headers }: Response): boolean =>
  headers.get('content-type')?.startsWith('text/event-stream') === true;

/** A refusal that time may mend is waited out; any other is thrown. */
async function answerFor(response: Response): Promise<Visit> {
  const error = await refusal(response);
  if (response.status < 500 && ![408, 425, 429].includes(response.status)) throw error;
  const seconds = Number(response.headers.get('retry-after') ?? '0');
  return {
    kind: 'cut',
    why: error.message,
    isServed: false,
    waitMs: Number.isFinite(seconds) ? seconds * 1_000 : 0,
  };
}

type Settled<T> = { readonly isKept: true; readonly value: T } | { readonly isKept: false; readonly thrown: unknown };

/** A promise's outcome as a value, so that the network's failures are told apart from our own. */
async function settle<T>(work: Promise<T>): Promise<Settled<T>> {
  try {
    return { isKept: true, value: await work };
  } catch (thrown) {
    return { isKept: false, thrown };
  }
}

/** What comes first of the two. A full pipe may hold up what is written for as long as it likes, but not the end. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const aborted = () => resolve(undefined);
    signal.addEventListener('abort', aborted, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', aborted));
    if (signal.aborted) aborted();
  });
}
