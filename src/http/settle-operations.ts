/** What the routes say of themselves by which a worker keeps, steers and ends its turns. */
import { json } from './openapi/operation.ts';
import type { Operation } from './openapi/operation.ts';
import { failShape, finishShape, releaseShape, renewShape, steerShape, waitShape } from './settle-shape.ts';
import { inputsShape, renewedTurnsShape, settledShape } from './turn-shape.ts';

const settling = { 200: { description: 'It is settled.', contents: json(settledShape) } };
// Whatever became of its session, an attempt that owns nothing hears just that.
const refusals = ['fenced', 'session_busy'] as const;

export const renewOperation = {
  id: 'renewTurns',
  group: 'Workers',
  summary: 'Renew leases',
  scope: 'write',
  body: { contents: json(renewShape) },
  answers: { 200: { description: 'Those that go on.', contents: json(renewedTurnsShape) } },
} as const satisfies Operation;

export const steerOperation = {
  id: 'steerTurn',
  group: 'Workers',
  summary: 'Take the messages that may join the turn',
  scope: 'write',
  isBlind: true,
  body: { contents: json(steerShape) },
  answers: { 200: { description: 'The messages, in order.', contents: json(inputsShape) } },
  refusals,
} as const satisfies Operation;

export const finishOperation = {
  id: 'finishTurn',
  group: 'Workers',
  summary: 'End a turn',
  description:
    'Appends the events and ends the turn in one transaction. Repeated by the same attempt it has the same answer.',
  scope: 'write',
  isBlind: true,
  body: { contents: json(finishShape) },
  answers: settling,
  refusals: [...refusals, 'turn_over'],
} as const satisfies Operation;

export const failOperation = {
  id: 'failTurn',
  group: 'Workers',
  summary: 'Say that an attempt failed',
  description: 'Ends the attempt, and the turn unless it may be tried again.',
  scope: 'write',
  isBlind: true,
  body: { contents: json(failShape) },
  answers: settling,
  refusals,
} as const satisfies Operation;

export const waitOperation = {
  id: 'waitForDecisions',
  group: 'Workers',
  summary: 'Ask a person, and wait',
  description: 'Ends the attempt. When every question is decided, the turn is claimed again with the decisions.',
  scope: 'write',
  isBlind: true,
  body: { contents: json(waitShape) },
  answers: settling,
  refusals: [...refusals, 'approval_conflict'],
} as const satisfies Operation;

export const releaseOperation = {
  id: 'releaseTurn',
  group: 'Workers',
  summary: 'Give a turn back',
  description: 'Without counting the try: for a worker that is asked to end.',
  scope: 'write',
  isBlind: true,
  body: { contents: json(releaseShape) },
  answers: settling,
  refusals,
} as const satisfies Operation;
