/** What a session's agent does now, as its events alone tell it: never guessed from who spoke last (pure). */
import type { SessionEvent } from './session-event.ts';
import type { TurnFacts } from './session-server.ts';
import { errorOf, fieldsOf, numberOf, textOf, withDoubt } from './timeline-data.ts';
import type { Fields } from './timeline-data.ts';
import type { TurnError } from './timeline-item.ts';

export interface TurnNow {
  /**
   * `queued`: a message waits for a worker; `running`, or asked to stop (`stopping`); `waiting` for a person's decision;
   * `retrying`: an attempt failed or was lost, and the next one is due at `retryAt`.
   */
  readonly state: 'idle' | 'queued' | 'running' | 'stopping' | 'waiting' | 'retrying';
  /** The turn that is under way. */
  readonly turn?: string | undefined;
  /** Its fence, which is no count. */
  readonly attempt?: number | undefined;
  /** Which try at the turn it is; worth showing beyond 1. */
  readonly try?: number | undefined;
  /** When it came to be so, by the database's clock, as an event's `at`. Unknown of what began before the events here. */
  readonly since?: string | undefined;
  readonly retryAt?: string | undefined;
  /** Of the attempt that is tried again, or of the last turn, until the next one begins. */
  readonly error?: TurnError | undefined;
}

/** A state as folding goes on from it. */
export interface TurnFold {
  /** Undefined until an event tells. */
  readonly now: TurnNow | undefined;
  /** The sequences of messages that ask for a turn and have not been taken into one. */
  readonly pending: readonly number[];
  /** No others are: what lies before these events is known to have left none. */
  readonly isWhole: boolean;
  /** What it waits for; undefined where that is not known. */
  readonly approvals?: readonly string[] | undefined;
}

const idle: TurnNow = { state: 'idle' };

export const unknownTurn: TurnFold = { now: undefined, pending: [], isWhole: false };
/** Before a session's first event. */
const firstTurn: TurnFold = { now: idle, pending: [], isWhole: true };

/** What waits without end must not pile up; that there is something is all that it is asked for. */
const MOST_PENDING = 100;
/** The last time that a date can be [spec: ECMA-262, 21.4.1.1]. */
const LAST_MS = 8.64e15;

/** Of events in order. One that says nothing of turns leaves the same object. */
export function foldTurn(fold: TurnFold, event: SessionEvent): TurnFold {
  const known = event.sequence === 1 ? firstTurn : fold;
  const data = fieldsOf(event.data);
  const apply = data && changes.get(event.type);
  return apply?.(known, data as Fields, event) ?? known;
}

/** Undefined where the events do not tell: whether something is pending that lies before them, say. */
export const toldBy = ({ now, isWhole }: TurnFold): TurnNow | undefined =>
  isWhole || now?.state !== 'idle' ? now : undefined;

/** As the server described the session; one of an earlier release has no turns. */
export function foldOf(facts: TurnFacts | undefined): TurnFold {
  if (facts === undefined || facts.state === 'idle') return firstTurn;
  const { state, turn, attempt, stop } = facts;
  const under = { turn: turn ?? undefined, attempt: attempt ?? undefined };
  const now = {
    running: stop === null ? 'running' : 'stopping',
    waiting: 'waiting',
    ready: turn === null ? 'queued' : 'retrying',
  } as const;
  return { now: { state: now[state], ...under }, pending: [], isWhole: false };
}

type Change = (fold: TurnFold, data: Fields, event: SessionEvent) => TurnFold;

const changes: ReadonlyMap<string, Change> = new Map<string, Change>([
  [
    'message.created',
    (fold, { onBusy }, event) => (typeof onBusy === 'string' ? ask(fold, event, [event.sequence]) : fold),
  ],
  ['turn.requested', (fold, { inputs }, event) => ask(fold, event, numbersOf(inputs))],
  ['turn.started', start],
  ['turn.steered', (fold, data) => ({ ...fold, pending: without(fold, data) })],
  ['turn.stopping', (fold, data, { at }) => move(fold, data, { state: 'stopping', since: at })],
  ['turn.waiting', wait],
  ['approval.decided', decide],
  ['turn.retrying', retry],
  ['turn.completed', end],
  ['turn.failed', end],
  ['turn.cancelled', end],
  ['turn.in_doubt', (fold, data, event) => end(fold, withDoubt(data), event)],
]);

function ask(fold: TurnFold, { at }: SessionEvent, sequences: readonly number[]): TurnFold {
  const { now } = fold;
  const pending = [...fold.pending, ...sequences].slice(-MOST_PENDING);
  return { ...fold, pending, now: now?.state === 'idle' ? { ...now, state: 'queued', since: at } : now };
}

/**
 * A new turn takes all that is pending; one that goes on takes nothing. Which it is, a state that an event told says (it has its
 * time); what the server described may be of a later moment than this event.
 */
function start(fold: TurnFold, data: Fields, { at }: SessionEvent): TurnFold {
  const { now, isWhole } = fold;
  const isNew = now?.since !== undefined && now.turn === undefined;
  const moved = move(fold, data, { state: 'running', try: numberOf(data.try), since: at });
  return { ...moved, pending: without(fold, data), isWhole: isWhole || isNew };
}

function wait(fold: TurnFold, data: Fields, { at }: SessionEvent): TurnFold {
  return { ...move(fold, data, { state: 'waiting', since: at }), approvals: textsOf(data.approvals) };
}

/** After the last one it is to be claimed again. Which one that is, only what it waits for can tell. */
function decide(fold: TurnFold, { approval }: Fields, { at }: SessionEvent): TurnFold {
  const { now } = fold;
  if (now?.state !== 'waiting') return fold;
  const approvals = fold.approvals?.filter((other) => other !== approval);
  if (approvals === undefined) return { ...fold, now: undefined };
  return { ...fold, approvals, now: approvals.length > 0 ? now : { ...now, state: 'queued', since: at } };
}

function retry(fold: TurnFold, data: Fields, { at }: SessionEvent): TurnFold {
  const dueMs = Date.parse(at) + (numberOf(data.inMs) ?? 0);
  const retryAt = Math.abs(dueMs) <= LAST_MS ? new Date(dueMs).toISOString() : undefined;
  return move(fold, data, { state: 'retrying', since: at, retryAt, error: errorOf(data.error) });
}

function end(fold: TurnFold, data: Fields, { at }: SessionEvent): TurnFold {
  const pending = without(fold, data);
  const error = errorOf(data.error);
  return {
    pending,
    isWhole: fold.isWhole,
    now: { state: pending.length > 0 ? 'queued' : 'idle', since: at, ...(error && { error }) },
  };
}

/** To another state of the turn that is named. How often that was tried, only its beginning says. */
function move(fold: TurnFold, data: Fields, to: TurnNow): TurnFold {
  const turn = textOf(data.turn);
  const { now } = fold;
  const tried = now !== undefined && now.turn === turn && now.try !== undefined ? { try: now.try } : {};
  return { ...fold, approvals: undefined, now: { turn, attempt: numberOf(data.attempt), ...tried, ...to } };
}

const without = ({ pending }: TurnFold, { inputs }: Fields): readonly number[] =>
  Array.isArray(inputs) ? pending.filter((sequence) => !inputs.includes(sequence)) : pending;

const numbersOf = (value: unknown): readonly number[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === 'number') : [];

const textsOf = (value: unknown): readonly string[] | undefined =>
  Array.isArray(value) ? value.filter((one) => typeof one === 'string') : undefined;
