/** Turns as JSON: what is absent is null, and the data of an input is its stored text itself, never printed anew [I2]. */
import type { z } from 'zod';
import type { TurnNow } from '../event/turn-state.ts';
import type { ListedSession } from '../ledger/ledger.ts';
import type { ClaimedTurn, Input, Renewed, Settled, TurnSummary } from '../turn/turns.ts';
import type { turnNowShape } from './openapi/shapes.ts';
import type { claimedShape, listedSessionShape, renewedShape, settledShape, turnSummaryShape } from './turn-shape.ts';

export const turnNow = ({ state, turn, attempt, stop }: TurnNow): z.infer<typeof turnNowShape> => ({
  state,
  turn: turn ?? null,
  attempt: attempt ?? null,
  stop: stop ?? null,
});

export const listedSession = ({
  session,
  metadata,
  state,
  head,
  turn,
  activity,
  notable,
  read,
}: ListedSession): z.infer<typeof listedSessionShape> => ({
  session,
  metadata,
  state,
  head,
  turn: turnNow(turn),
  activity,
  notable,
  read,
  unread: notable > read,
});

export const turnSummary = (summary: TurnSummary): z.infer<typeof turnSummaryShape> => ({
  session: summary.session,
  turn: summary.turn ?? null,
  attempt: summary.attempt ?? null,
  status: summary.status,
  state: summary.state,
  worker: summary.worker ?? null,
  tries: summary.tries,
  maxAttempts: summary.maxAttempts ?? null,
  since: summary.since,
  error: summary.error === undefined ? null : { code: summary.error.code, message: summary.error.message },
  doubts: summary.doubts.map(({ step, tool, effect }) => ({ step, tool, effect })),
});

export const settled = ({ state, status, sequence }: Settled): z.infer<typeof settledShape> => ({
  state,
  status,
  sequence: sequence ?? null,
});

export const renewed = ({
  session,
  turn,
  attempt,
  stop,
  hasSteering,
  isExtended,
}: Renewed): z.infer<typeof renewedShape> => ({
  session,
  turn,
  attempt,
  stop: stop ?? null,
  steering: hasSteering,
  extended: isExtended,
});

export const inputsText = (inputs: readonly Input[]): string =>
  `[${inputs.map(({ sequence, at, data }) => `{"sequence":${sequence},"at":"${at}","data":${data}}`).join(',')}]`;

export function claimedText(claimed: ClaimedTurn): string {
  const { session, turn, attempt, tryNumber, maxAttempts, leaseMs, deadline, remainingMs, head, traceparent } = claimed;
  const times = { leaseMs, deadline, remainingMs };
  const facts: Omit<z.infer<typeof claimedShape>, 'inputs' | 'decisions'> = {
    session,
    turn,
    attempt,
    try: tryNumber,
    maxAttempts,
    ...times,
    head,
    traceparent: traceparent ?? null,
  };
  const decisions: z.infer<typeof claimedShape>['decisions'] = claimed.decisions.map(
    ({ approval, decision, by, comment, sequence }) => ({
      approval,
      decision,
      by,
      comment: comment ?? null,
      sequence,
    }),
  );
  const inputs = inputsText(claimed.inputs);
  return `${JSON.stringify(facts).slice(0, -1)},"inputs":${inputs},"decisions":${JSON.stringify(decisions)}}`;
}
