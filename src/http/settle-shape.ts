/** What a worker may say of the turns that it runs: the bodies of the routes of settling, in their shapes. */
import { z } from 'zod';
import { limits } from '../base/limits.ts';
import { eventsShape } from '../event/append-body.ts';
import { sessionIdShape } from '../event/event.ts';
import { approvalIdShape, attemptShape, turnIdShape } from '../event/turn-id.ts';

export const renewShape = z
  .strictObject({
    attempts: z
      .array(z.strictObject({ session: sessionIdShape, turn: turnIdShape, attempt: attemptShape }))
      .max(limits.renewAttempts),
  })
  .meta({ id: 'Renewal', examples: [{ attempts: [{ session: 'run-42', turn: '0b6c', attempt: 7 }] }] });

export const releaseShape = z
  .strictObject({ attempt: attemptShape })
  .meta({ id: 'Release', examples: [{ attempt: 7 }] });

export const steerShape = z
  .strictObject({
    attempt: attemptShape,
    after: z.int().min(1).optional().describe('The sequence of the last input that the worker has.'),
  })
  .meta({ id: 'Steering', examples: [{ attempt: 7 }] });

export const finishShape = z
  .strictObject({
    attempt: attemptShape,
    outcome: z.enum(['completed', 'cancelled']).describe('`cancelled` only after a stop was asked.'),
    events: eventsShape.default([]),
  })
  .meta({
    id: 'Finish',
    examples: [
      {
        attempt: 7,
        outcome: 'completed',
        events: [{ type: 'message.completed', data: { message: '0b6c', role: 'assistant', content: 'Done.' } }],
      },
    ],
  });

const ERROR_CODE_LENGTH = 128;
export const failShape = z
  .strictObject({
    attempt: attemptShape,
    error: z.strictObject({ code: z.string().min(1).max(ERROR_CODE_LENGTH), message: z.string() }),
    retryable: z.boolean(),
  })
  .meta({
    id: 'Failure',
    examples: [{ attempt: 7, error: { code: 'model_overloaded', message: 'try later' }, retryable: true }],
  });

export const waitShape = z
  .strictObject({
    attempt: attemptShape,
    approvals: z
      .array(
        z.strictObject({
          approval: approvalIdShape,
          tool: z.string().optional(),
          args: z.unknown().optional(),
          reason: z.string().optional(),
          call: z.string().optional(),
        }),
      )
      .min(1)
      .max(limits.approvalsPerWait),
  })
  .meta({
    id: 'Wait',
    examples: [
      { attempt: 7, approvals: [{ approval: 'refund-7731', tool: 'refund', args: { cents: 40 }, reason: 'money' }] },
    ],
  });
