/** What is answered of turns: listed, claimed, renewed, settled. */
import { z } from 'zod';
import { turnStatuses } from '../turn/turns.ts';
import { effectClasses } from '../step/step.ts';
import {
  cursorShape,
  sequenceShape,
  sessionStateShape,
  timeShape,
  turnNowShape,
  turnStateShape,
} from './openapi/shapes.ts';

const countShape = z.int().min(0);
const idle = { state: 'idle', turn: null, attempt: null, stop: null } as const;
const AT = '2026-11-30T04:00:00.000Z';

export const listedSessionShape = z.object({
  session: z.string(),
  metadata: z.unknown(),
  state: sessionStateShape,
  head: cursorShape,
  turn: turnNowShape,
  activity: timeShape.describe('When it was last sent a message, ended a turn or asked something.'),
  notable: cursorShape.describe('The last event that a person should see.'),
  read: cursorShape.describe('How far the reader has read.'),
  unread: z.boolean(),
});

export const sessionListShape = z
  .object({ sessions: z.array(listedSessionShape), next: z.string().nullable().describe('What `after` takes.') })
  .meta({
    id: 'SessionList',
    examples: [
      {
        sessions: [
          {
            session: 'run-42',
            metadata: {},
            state: 'open',
            head: 44,
            turn: idle,
            activity: AT,
            notable: 44,
            read: 40,
            unread: true,
          },
        ],
        next: null,
      },
    ],
  });

export const turnSummaryShape = z.object({
  session: z.string(),
  turn: z.string().nullable().describe('Null while it is queued and no worker has begun it.'),
  attempt: sequenceShape.nullable(),
  status: z.enum([...turnStatuses, 'queued']),
  state: turnStateShape,
  worker: z.string().nullable(),
  tries: countShape,
  maxAttempts: sequenceShape.nullable(),
  since: timeShape,
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  doubts: z
    .array(z.object({ step: countShape, tool: z.string(), effect: z.enum(effectClasses) }))
    .describe('The steps that a person must resolve.'),
});

export const turnListShape = z.object({ turns: z.array(turnSummaryShape) }).meta({
  id: 'TurnList',
  examples: [
    {
      turns: [
        {
          session: 'run-42',
          turn: '0b6c',
          attempt: 7,
          status: 'failed',
          state: 'idle',
          worker: null,
          tries: 3,
          maxAttempts: 3,
          since: AT,
          error: { code: 'worker_lost', message: 'its attempts died' },
          doubts: [],
        },
      ],
    },
  ],
});

const input = { key: 'a-key', role: 'user', content: 'Where is order 7731?', by: 'maya', onBusy: 'enqueue' };

const inputShape = z.object({ sequence: sequenceShape, at: timeShape, data: z.unknown() });

export const inputsShape = z
  .object({ inputs: z.array(inputShape) })
  .meta({ id: 'Inputs', examples: [{ inputs: [{ sequence: 40, at: AT, data: input }] }] });

export const claimedShape = z.object({
  session: z.string(),
  turn: z.string(),
  attempt: sequenceShape.describe('The fence.'),
  try: sequenceShape,
  maxAttempts: sequenceShape,
  leaseMs: countShape,
  deadline: timeShape,
  remainingMs: z.int(),
  head: cursorShape,
  traceparent: z.string().nullable().describe('The trace of the first input that has one.'),
  inputs: z.array(inputShape).describe('The same at every attempt.'),
  decisions: z.array(
    z.object({
      approval: z.string(),
      decision: z.enum(['approved', 'denied']),
      by: z.string(),
      comment: z.string().nullable(),
      sequence: sequenceShape,
    }),
  ),
});

export const claimedTurnsShape = z.object({ turns: z.array(claimedShape) }).meta({
  id: 'ClaimedTurns',
  examples: [
    {
      turns: [
        {
          session: 'run-42',
          turn: '0b6c',
          attempt: 7,
          try: 1,
          maxAttempts: 3,
          leaseMs: 30_000,
          deadline: '2026-11-30T08:00:00.000Z',
          remainingMs: 14_400_000,
          head: 41,
          traceparent: null,
          inputs: [{ sequence: 40, at: AT, data: input }],
          decisions: [],
        },
      ],
    },
  ],
});

export const renewedShape = z.object({
  session: z.string(),
  turn: z.string(),
  attempt: sequenceShape,
  stop: z.enum(['stop', 'interrupt']).nullable(),
  steering: z.boolean().describe('Messages wait that may join the turn.'),
  extended: z.boolean().describe('False where somebody held the session: ask again within a second.'),
});

export const renewedTurnsShape = z
  .object({ renewed: z.array(renewedShape).describe('Whoever is missing has lost its turn.') })
  .meta({
    id: 'RenewedTurns',
    examples: [
      { renewed: [{ session: 'run-42', turn: '0b6c', attempt: 7, stop: null, steering: false, extended: true }] },
    ],
  });

export const settledShape = z
  .object({ state: turnStateShape, status: z.enum(turnStatuses), sequence: sequenceShape.nullable() })
  .meta({ id: 'Settled', examples: [{ state: 'idle', status: 'done', sequence: 45 }] });
