/** What is answered of steps: the journal, what to do about a call, how it was settled. */
import { z } from 'zod';
import { effectClasses, stepKinds, stepStates } from '../step/step.ts';
import { sequenceShape, timeShape } from './openapi/shapes.ts';

const countShape = z.int().min(0);
const errorShape = z.object({ code: z.string(), message: z.string() });
const AT = '2026-11-30T04:00:00.000Z';

const stepShape = z.object({
  index: countShape,
  kind: z.enum(stepKinds),
  state: z.enum(stepStates),
  tool: z.string().nullable(),
  effect: z.enum(effectClasses).nullable(),
  reserved: countShape.describe('How many indices behind it are those of the calls of this answer of a model.'),
  requestHash: z.string(),
  request: z.unknown(),
  result: z.unknown(),
  error: errorShape.nullable(),
  attempt: sequenceShape,
  startedAt: timeShape,
  endedAt: timeShape.nullable(),
});

export const journalShape = z.object({ steps: z.array(stepShape) }).meta({
  id: 'Journal',
  examples: [
    {
      steps: [
        {
          index: 1,
          kind: 'tool',
          state: 'done',
          tool: 'refund',
          effect: 'keyed',
          reserved: 0,
          requestHash: '5f2c',
          request: { v: 1, tool: 'refund', args: { cents: 40 } },
          result: { refunded: 40 },
          error: null,
          attempt: 7,
          startedAt: AT,
          endedAt: AT,
        },
      ],
    },
  ],
});

export const beginningShape = z
  .union([
    z.object({
      do: z.literal('run'),
      key: z.string(),
      again: z.boolean().describe('An earlier attempt may have done it.'),
    }),
    z.object({ do: z.literal('find'), key: z.string() }),
    z.object({ do: z.literal('wait') }),
    z.object({ do: z.literal('use'), result: z.unknown() }),
    z.object({ do: z.literal('use'), error: errorShape }),
    z.object({ do: z.literal('stop') }),
  ])
  .meta({ id: 'StepBeginning', examples: [{ do: 'run', key: 'v1:0b6c:1', again: false }] });

export const settledStepShape = z
  .object({
    state: z.enum(stepStates),
    sequence: sequenceShape
      .nullable()
      .describe('Null when the journal had an outcome, or the turn was another’s already.'),
  })
  .meta({ id: 'SettledStep', examples: [{ state: 'done', sequence: 13 }] });
