/** The shapes that answers share: numbers of the ledger, times, states. */
import { z } from 'zod';
import { turnStates } from '../../event/turn-state.ts';
import type { SessionState } from '../../ledger/ledger.ts';

export const sequenceShape = z.int().min(1);

export const cursorShape = z.int().min(0);

/** UTC with milliseconds. */
export const timeShape = z.string().meta({ format: 'date-time', examples: ['2026-11-30T04:00:00.000Z'] });

const sessionStates: readonly [SessionState, ...SessionState[]] = ['open', 'closed', 'deleted'];
export const sessionStateShape = z.enum(sessionStates);

export const turnStateShape = z.enum(turnStates);

export const turnNowShape = z
  .object({
    state: turnStateShape,
    turn: z.string().nullable(),
    attempt: sequenceShape.nullable().describe('The fence: it grows with every attempt of the session.'),
    stop: z.enum(['stop', 'interrupt']).nullable().describe('How the running attempt is asked to end.'),
  })
  .meta({
    id: 'TurnNow',
    description: 'What the agent of a session does.',
    examples: [{ state: 'running', turn: '0b6c', attempt: 7, stop: null }],
  });

/** Answers that say nothing but that it is done. */
export const doneShape = z.object({}).meta({ id: 'Done', examples: [{}] });

/** An event as readers get it. */
export const envelopeShape = z
  .object({
    sequence: sequenceShape,
    type: z.string(),
    at: timeShape,
    turn: z.string().optional().describe('With `attempt`: who appended it.'),
    attempt: sequenceShape.optional(),
    data: z.unknown().describe('Any JSON, exactly as it was sent.'),
  })
  .meta({
    id: 'Event',
    description: 'A stored event.',
    examples: [{ sequence: 42, type: 'text.delta', at: '2026-11-30T04:00:00.000Z', data: { text: 'Hel' } }],
  });

export const traceHeaders = z.object({
  traceparent: z
    .string()
    .optional()
    .describe(
      'The trace that this belongs to [W3C Trace Context]; it goes with the events, and with the turn they ask for.',
    ),
});
