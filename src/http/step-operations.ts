/** What the routes of the journal say of themselves. */
import { json } from './openapi/operation.ts';
import type { Operation } from './openapi/operation.ts';
import { doneShape } from './openapi/shapes.ts';
import { beginningShape, journalShape, settledStepShape } from './step-answer.ts';
import { modelShape, resolveShape, settleShape, startShape } from './step-shape.ts';

const refusals = ['session_busy', 'fenced', 'step_conflict'] as const;

export const journalOperation = {
  id: 'readJournal',
  group: 'Steps',
  summary: 'Read the journal of a turn',
  scope: 'read',
  isBlind: true,
  answers: { 200: { description: 'Its steps, in order.', contents: json(journalShape) } },
  refusals: ['turn_unknown'],
} as const satisfies Operation;

export const modelOperation = {
  id: 'journalModel',
  group: 'Steps',
  summary: 'Journal the answer of a model',
  description: 'It reserves the indices of the calls that it asks for.',
  scope: 'write',
  isBlind: true,
  body: { contents: json(modelShape) },
  answers: { 200: { description: 'The journal has it.', contents: json(settledStepShape) } },
  refusals,
} as const satisfies Operation;

export const startOperation = {
  id: 'startStep',
  group: 'Steps',
  summary: 'Begin a call',
  description:
    'The answer says what to do: `run` it, `find` out whether it happened, `wait`, `use` what the journal has, or `stop`.',
  scope: 'write',
  isBlind: true,
  body: { contents: json(startShape) },
  answers: { 200: { description: 'What to do.', contents: json(beginningShape) } },
  refusals,
} as const satisfies Operation;

export const settleOperation = {
  id: 'settleStep',
  group: 'Steps',
  summary: 'Record what came of a call',
  description: 'A result, with what others are to be told of it, or an error. The first outcome stays.',
  scope: 'write',
  body: { contents: json(settleShape) },
  answers: { 200: { description: 'The journal has an outcome.', contents: json(settledStepShape) } },
  refusals: [...refusals, 'session_deleted', 'step_unknown'],
} as const satisfies Operation;

export const resolveOperation = {
  id: 'resolveStep',
  group: 'Steps',
  summary: 'Resolve a step in doubt',
  description:
    'By a person, who says what became of the call. With `resume` the turn goes on when nothing is in doubt any more.',
  scope: 'write',
  body: { contents: json(resolveShape) },
  answers: { 200: { description: 'It is resolved.', contents: json(doneShape) } },
  refusals: [
    'session_closed',
    'session_deleted',
    'session_busy',
    'step_unknown',
    'step_settled',
    'turn_unknown',
    'turn_busy',
    'turn_over',
  ],
} as const satisfies Operation;
