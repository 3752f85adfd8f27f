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
  | 'turn.in_doubt'
  | 'approval.required'
  | 'approval.decided'
  | 'step.started'
  | 'step.done'
  | 'step.failed'
  | 'step.in_doubt'
  | 'step.resolved';

/** Of no attempt: what a person did. `texts` are members that are JSON on one line already, and stay as they are. */
export function turnEvent(
  type: TurnEventType,
  data: Readonly<Record<string, unknown>>,
  texts: Readonly<Record<string, string>> = {},
): TurnEvent {
  const facts = toOneLine(JSON.stringify(data));
  const said = Object.entries(texts).map(([name, value]) => `,"${name}":${value}`);
  const text = `${facts.slice(0, -1)}${said.join('')}}`;
  return { type, data: text, bytes: Buffer.byteLength(text) };
}

/** Of an attempt, which the event names both in its data and in its envelope. */
export function attemptEvent(
  type: TurnEventType,
  { turn, attempt }: Pick<Attempt, 'turn' | 'attempt'>,
  data: Readonly<Record<string, unknown>>,
  texts?: Readonly<Record<string, string>>,
): TurnEvent {
  return { ...turnEvent(type, { turn, attempt, ...data }, texts), fence: { turn, attempt } };
}
