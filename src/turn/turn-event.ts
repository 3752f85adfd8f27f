/** The events by which a turn tells of itself (pure); `docs/PROTOCOL.md` describes each. */
import { toOneLine } from '../event/slice.ts';
import type { TurnEvent } from '../ledger/turn-head.ts';
import type { Attempt } from './turns.ts';

type TurnEventType =
  | 'message.created'
  | 'turn.started'
  | 'turn.steered'
  | 'turn.stopping'
  | 'turn.waiting'
  | 'turn.retrying'
  | 'turn.requested'
  | 'turn.completed'
  | 'turn.failed'
  | 'turn.cancelled'
  | 'approval.required'
  | 'approval.decided';

/** Of no attempt: what a person did. */
export function turnEvent(type: TurnEventType, data: Readonly<Record<string, unknown>>): TurnEvent {
  const text = toOneLine(JSON.stringify(data));
  return { type, data: text, bytes: Buffer.byteLength(text) };
}

/** Of an attempt, which the event names both in its data and in its envelope. */
export function attemptEvent(
  type: TurnEventType,
  { turn, attempt }: Pick<Attempt, 'turn' | 'attempt'>,
  data: Readonly<Record<string, unknown>>,
): TurnEvent {
  return { ...turnEvent(type, { turn, attempt, ...data }), fence: { turn, attempt } };
}
