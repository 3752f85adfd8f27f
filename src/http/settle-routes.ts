/** What a worker says of the turns that it runs: it is still at them, it takes steering, and how each attempt ended. */
import { z } from 'zod';
import { LedgerlineError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { eventsShape, parseEventsBody } from '../event/append-body.ts';
import { sessionIdShape } from '../event/event.ts';
import { toSequence } from '../event/sequence.ts';
import { toOneLine } from '../event/slice.ts';
import { approvalIdShape, attemptShape, turnIdShape } from '../event/turn-id.ts';
import type { Attempt, Question, Settled, Turns } from '../turn/turns.ts';
import { shapedBody } from './body.ts';
import type { ReadJsonBody } from './body.ts';
import type { App, AppContext } from './context.ts';
import { mount } from './dispatch.ts';
import type { Door, Gate } from './door.ts';
import { inputsText, renewed, settled } from './turn-json.ts';
import { turnOf } from './turn-routes.ts';

export interface SettleOptions {
  readonly turns: Turns;
  readonly door: Door;
  readonly gate: Gate;
  readonly readJsonBody: ReadJsonBody;
}

const renewShape = z.strictObject({
  attempts: z
    .array(z.strictObject({ session: sessionIdShape, turn: turnIdShape, attempt: attemptShape }))
    .max(limits.renewAttempts),
});
const attemptOnlyShape = z.strictObject({ attempt: attemptShape });
const steerShape = z.strictObject({ attempt: attemptShape, after: z.int().min(1).optional() });
const finishShape = z.strictObject({
  attempt: attemptShape,
  outcome: z.enum(['completed', 'cancelled']),
  events: eventsShape.default([]),
});
const ERROR_CODE_LENGTH = 128;
const failShape = z.strictObject({
  attempt: attemptShape,
  error: z.strictObject({ code: z.string().min(1).max(ERROR_CODE_LENGTH), message: z.string() }),
  retryable: z.boolean(),
});
const waitShape = z.strictObject({
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
});

type Settle = (c: AppContext, at: Omit<Attempt, 'attempt'>) => Promise<Settled>;

export function mountSettling(app: App, { turns, door, gate, readJsonBody }: SettleOptions): void {
  // Events, arguments and a thousand ids need more room than other bodies.
  const bytesOf = (c: AppContext): Promise<Buffer> => readJsonBody(c, 'appendBodyBytes');
  const json = { 'Content-Type': 'application/json' };

  mount(app, '/internal/turns/renew', {
    POST: gate('write', async (c) => {
      const { attempts } = shapedBody(renewShape, await bytesOf(c));
      return c.json({ renewed: (await turns.renew(attempts)).map(renewed) });
    }),
  });
  mount(app, '/internal/sessions/:session/turns/:turn/steer', {
    POST: door('write', async (c, { session }) => {
      const turn = turnOf(c);
      const { attempt, after } = shapedBody(steerShape, await bytesOf(c));
      const inputs = await turns.steer({ session, turn, attempt }, after === undefined ? after : toSequence(after));
      return c.body(`{"inputs":${inputsText(inputs)}}`, 200, json);
    }),
  });

  const settling = (name: string, settle: Settle): void =>
    mount(app, `/internal/sessions/:session/turns/:turn/${name}`, {
      POST: door('write', async (c, { session }) => c.json(settled(await settle(c, { session, turn: turnOf(c) })))),
    });
  settling('finish', async (c, at) => {
    const { body, events } = parseEventsBody(await bytesOf(c), finishShape);
    return turns.finish({ ...at, attempt: body.attempt }, body.outcome, events);
  });
  settling('fail', async (c, at) => {
    const { attempt, error, retryable } = shapedBody(failShape, await bytesOf(c));
    return turns.fail({ ...at, attempt }, { ...error, message: cut(error.message) }, retryable);
  });
  settling('wait', async (c, at) => {
    const { attempt, approvals } = shapedBody(waitShape, await bytesOf(c));
    const questions = approvals.map(({ approval, ...data }): Question => ({ approval, data }));
    requireDistinct(questions);
    questions.forEach((question, index) => requireRoom({ turn: at.turn, attempt }, question, index));
    return turns.wait({ ...at, attempt }, questions);
  });
  settling('release', async (c, at) => {
    const { attempt } = shapedBody(attemptOnlyShape, await bytesOf(c));
    return turns.release({ ...at, attempt });
  });
}

/** Cut, and not refused: a failure that could not be told would be tried again as a lost attempt. */
function cut(message: string): string {
  const bytes = Buffer.from(message);
  // As a part of a stream, so that half a character at the end is left out and not replaced.
  return new TextDecoder().decode(bytes.subarray(0, limits.turnErrorBytes), { stream: true });
}

function requireDistinct(questions: readonly Question[]): void {
  const ids = questions.map(({ approval }) => approval);
  const again = ids.findIndex((id, index) => ids.indexOf(id) !== index);
  if (again < 0) return;
  const where = `approvals[${again}].approval`;
  throw new LedgerlineError('malformed', `${where}: two questions cannot have the id ${ids[again]}`, { where });
}

/** A question becomes an event, which holds so much and no more. */
function requireRoom(attempt: Omit<Attempt, 'session'>, { approval, data }: Question, index: number): void {
  const size = Buffer.byteLength(toOneLine(JSON.stringify({ ...attempt, approval, ...data })));
  if (size <= limits.payloadBytes) return;
  throw new LedgerlineError('too_large', `a question holds at most ${limits.payloadBytes} bytes`, {
    limit: 'payloadBytes',
    max: limits.payloadBytes,
    index,
  });
}
