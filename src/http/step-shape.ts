/** What may be asked of a turn's journal: the bodies of the routes of steps, read and in their shapes. */
import { z } from 'zod';
import { limits } from '../base/limits.ts';
import { parseJson, shaped } from '../event/json-body.ts';
import { sliceMembers, toOneLine } from '../event/slice.ts';
import { toolNameShape, topicShape } from '../event/step-id.ts';
import { attemptShape } from '../event/turn-id.ts';
import { effectClasses } from '../step/step.ts';
import type { ModelAnswer } from '../turn/steps.ts';

/** JSON of any kind, but not left out. */
const valueShape = z.unknown().refine((value) => value !== undefined, 'is missing');

const CALL_ID_LENGTH = 256;
export const modelShape = z
  .strictObject({
    attempt: attemptShape,
    request: valueShape,
    result: valueShape,
    calls: z
      .array(z.strictObject({ call: z.string().min(1).max(CALL_ID_LENGTH), tool: toolNameShape, args: valueShape }))
      .default([]),
  })
  .meta({
    id: 'ModelAnswer',
    examples: [
      {
        attempt: 7,
        request: { messages: [{ role: 'user', content: 'Where is order 7731?' }] },
        result: { role: 'assistant', content: 'I look it up.' },
        calls: [{ call: 'c1', tool: 'orders.find', args: { order: '7731' } }],
      },
    ],
  });

/** A transactional tool shares a transaction with its journal, which no request can carry. */
const outsideClasses = effectClasses.filter((effect) => effect !== 'transactional');
const intentMembers = {
  attempt: attemptShape,
  tool: toolNameShape,
  effect: z.enum(
    outsideClasses,
    `is one of ${outsideClasses.join(', ')}; a transactional tool runs in a worker beside the database`,
  ),
  args: valueShape,
};

export const startShape = z
  .strictObject({ ...intentMembers, keySeconds: z.int().min(1).max(limits.keySecondsMost).optional() })
  .refine(({ effect, keySeconds }) => keySeconds === undefined || effect === 'keyed', {
    path: ['keySeconds'],
    message: 'only a keyed effect has a key that its provider forgets',
  })
  .meta({ id: 'StepStart', examples: [{ attempt: 7, tool: 'orders.find', effect: 'read', args: { order: '7731' } }] });

const deliveriesShape = z.array(z.strictObject({ topic: topicShape, payload: valueShape }));

const ERROR_CODE_LENGTH = 128;
export const settleShape = z
  .strictObject({
    ...intentMembers,
    result: z.unknown().optional(),
    error: z.strictObject({ code: z.string().min(1).max(ERROR_CODE_LENGTH), message: z.string() }).optional(),
    deliveries: deliveriesShape.optional(),
  })
  .refine(({ result, error }) => (result === undefined) !== (error === undefined), {
    message: 'a call has a result or an error, and not both',
  })
  .refine(({ error, deliveries }) => error === undefined || deliveries === undefined, {
    path: ['deliveries'],
    message: 'what failed has nothing to deliver',
  })
  .meta({
    id: 'StepOutcome',
    description: 'A result or an error, and not both.',
    examples: [
      { attempt: 7, tool: 'orders.find', effect: 'read', args: { order: '7731' }, result: { state: 'on its way' } },
    ],
  });

export const resolveShape = z
  .discriminatedUnion(
    'outcome',
    [
      z.strictObject({
        outcome: z.literal('done'),
        result: valueShape,
        deliveries: deliveriesShape.default([]),
        resume: z.boolean(),
      }),
      z.strictObject({ outcome: z.literal('not_done'), resume: z.boolean() }),
    ],
    'outcome is done or not_done',
  )
  .meta({ id: 'StepResolution', examples: [{ outcome: 'done', result: { charged: true }, resume: true }] });

/** A model's answer, whose result is the sender's own text [I2]. */
export function parseModelBody(bytes: Uint8Array): { attempt: number; request: unknown; answer: ModelAnswer } {
  const { text: members, value } = parseJson(bytes, sliceMembers);
  const { attempt, request, calls } = shaped(modelShape, value);
  return { attempt, request, answer: { result: toOneLine(members.get('result') ?? 'null'), calls } };
}
