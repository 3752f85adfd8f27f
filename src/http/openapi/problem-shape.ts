/** The problem documents as shapes: one a code, with the fields that it has beside the members of the standard. */
import { z } from 'zod';
import { errorCodes } from '../../base/errors.ts';
import type { ErrorCode } from '../../base/errors.ts';
import { scopes } from '../auth.ts';
import { problemKinds } from '../problem.ts';
import { cursorShape, sequenceShape, turnStateShape } from './shapes.ts';

const countShape = z.int().min(0);
const sizeFields = {
  limit: z.string().describe('Which limit.'),
  max: countShape,
  index: countShape.optional().describe('Of the event.'),
  line: sequenceShape.optional().describe('In a stream of events.'),
};
const range = { first: sequenceShape, last: sequenceShape };

const fields: Readonly<Partial<Record<ErrorCode, z.ZodRawShape>>> = {
  malformed: {
    where: z.string().optional().describe('A path such as `events[3].type`, a parameter, `body`, or a character.'),
    line: sequenceShape.optional().describe('In a stream of events.'),
  },
  forbidden: { scope: z.enum(scopes).optional().describe('The scope that is missing, if it is one.') },
  wrong_head: { head: cursorShape },
  request_conflict: { sequence: sequenceShape },
  turn_busy: { state: turnStateShape, turn: z.string().nullable() },
  turn_over: { turnStatus: z.string() },
  step_conflict: { state: z.string().nullable() },
  step_settled: { state: z.string() },
  approval_decided: {
    decision: z.enum(['approved', 'denied']).nullable(),
    by: z.string().nullable(),
    sequence: sequenceShape.nullable(),
  },
  duplicate_append: range,
  producer_conflict: range,
  producer_overlap: { counter: countShape.describe('The last one that the producer has stored.') },
  too_large: sizeFields,
  too_deep: sizeFields,
  rate_limited: { limit: z.string(), max: countShape, retryAfter: countShape.describe('Seconds.') },
  internal: { instance: z.string().optional().describe('The id under which the log of the server has the rest.') },
};

/** `SessionUnknownProblem`. */
const nameOf = (code: ErrorCode): string =>
  `${code.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())}Problem`;

function toShape(code: ErrorCode): z.ZodType {
  const { status, title } = problemKinds[code];
  return z
    .object({
      type: z.literal(`urn:ledgerline:problem:${code}`),
      title: z.literal(title),
      status: z.literal(status),
      detail: z.string(),
      ...fields[code],
    })
    .meta({ id: nameOf(code), description: `${title}.` });
}

const shapes = new Map(errorCodes.map((code) => [code, toShape(code)]));

/** Of each code. */
export const problemShape = (code: ErrorCode): z.ZodType => shapes.get(code) ?? toShape(code);
