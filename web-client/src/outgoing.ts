/** Messages on their way to a session: what a screen shows of them until their events are there, and how each ends (pure). */
import { FollowError } from './follow-error.ts';

/** What becomes of a message while a turn is under way: docs/PROTOCOL.md, Messages. */
export type OnBusy = 'enqueue' | 'reject' | 'interrupt' | 'steer';

/** A text, or a list of parts as the AI SDK has them. */
export type Content = string | readonly object[];

/** What is kept of a message, also over a reload, until the server has it. */
export interface KeptMessage {
  /** Made before the first try and repeated with every further one, so that it is stored once. Its event has it, too. */
  readonly key: string;
  readonly content: Content;
  readonly onBusy: OnBusy;
  /** When it was written, by the wall: `2026-11-30T04:00:00.000Z`. */
  readonly at: string;
  /** Its place in the line of its session. */
  readonly order: number;
  /** The agent was busy and the sender wanted no waiting: it goes out again when a person says so. */
  readonly isHeld?: boolean | undefined;
}

export interface Outgoing extends Omit<KeptMessage, 'order' | 'isHeld'> {
  /**
   * `sending`: on its way; `unsent`: the last try failed (`error`), and it will go out by itself; `refused`: it goes
   * nowhere until it is retried or discarded.
   */
  readonly state: 'sending' | 'unsent' | 'refused';
  readonly error?: FollowError | undefined;
}

/** The event that a message became. */
export interface SentMessage {
  readonly sequence: number;
}

/** A message while it is of interest here. */
export interface Entry {
  kept: KeptMessage;
  /** The server has it. */
  sequence?: number | undefined;
  refusal?: FollowError | undefined;
  readonly waiting: { readonly resolve: (sent: SentMessage) => void; readonly reject: (error: FollowError) => void }[];
}

export const inOrder = (entries: Iterable<Entry>): readonly Entry[] =>
  [...entries].toSorted((one, other) => one.kept.order - other.kept.order);

/** `failure`: of the last try, which holds up all that come after it. */
export function showEntry({ kept, sequence, refusal }: Entry, failure: FollowError | undefined): Outgoing {
  const { key, content, onBusy, at } = kept;
  const entry = { key, content, onBusy, at };
  if (refusal !== undefined) return { ...entry, state: 'refused', error: refusal };
  if (failure === undefined || sequence !== undefined) return { ...entry, state: 'sending' };
  return { ...entry, state: 'unsent', error: failure };
}

/** Of a message that was kept because of it, over a reload. */
export const busyRefusal = (): FollowError =>
  new FollowError('refused', 'the agent was busy', { status: 409, problem: 'turn_busy' });
