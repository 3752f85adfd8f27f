/** What a worker says of the turns that it runs: it is still at them, it takes steering, and how each attempt ended. */
import { LedgerlineError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { parseEventsBody } from '../event/append-body.ts';
import { toSequence } from '../event/sequence.ts';
import { toOneLine } from '../event/slice.ts';
import type { Attempt, Question, Settled, Turns } from '../turn/turns.ts';
import { shapedBody } from './body.ts';
import type { ReadJsonBody } from './body.ts';
import type { App, AppContext } from './context.ts';
import { mount } from './dispatch.ts';
import type { Door, Gate } from './door.ts';
import { guarded } from './openapi/operation.ts';
import {
  failOperation,
  finishOperation,
  releaseOperation,
  renewOperation,
  steerOperation,
  waitOperation,
} from './settle-operations.ts';
import { failShape, finishShape, releaseShape, renewShape, steerShape, waitShape } from './settle-shape.ts';
import { inputsText, renewed, settled } from './turn-json.ts';
import { turnOf } from './turn-routes.ts';

export interface SettleOptions {
  readonly turns: Turns;
  readonly door: Door;
  readonly gate: Gate;
  readonly readJsonBody: ReadJsonBody;
}

type Settling = typeof finishOperation | typeof failOperation | typeof waitOperation | typeof releaseOperation;
type Settle = (c: AppContext, at: Omit<Attempt, 'attempt'>) => Promise<Settled>;

export function mountSettling(app: App, { turns, door, gate, readJsonBody }: SettleOptions): void {
  // Events, arguments and a thousand ids need more room than other bodies.
  const bytesOf = (c: AppContext): Promise<Buffer> => readJsonBody(c, 'appendBodyBytes');
  const json = { 'Content-Type': 'application/json' };

  mount(app, '/internal/turns/renew', {
    POST: guarded(renewOperation, gate, async (c) => {
      const { attempts } = shapedBody(renewShape, await bytesOf(c));
      return c.json({ renewed: (await turns.renew(attempts)).map(renewed) });
    }),
  });
  mount(app, '/internal/sessions/:session/turns/:turn/steer', {
    POST: guarded(steerOperation, door, async (c, { session }) => {
      const turn = turnOf(c);
      const { attempt, after } = shapedBody(steerShape, await bytesOf(c));
      const inputs = await turns.steer({ session, turn, attempt }, after === undefined ? after : toSequence(after));
      return c.body(`{"inputs":${inputsText(inputs)}}`, 200, json);
    }),
  });

  const settling = (name: string, operation: Settling, settle: Settle): void =>
    mount(app, `/internal/sessions/:session/turns/:turn/${name}`, {
      POST: guarded(operation, door, async (c, { session }) => {
        const turn = turnOf(c);
        const outcome = await settle(c, { session, turn });
        c.get('notes').facts = { turn, turnStatus: outcome.status };
        return c.json(settled(outcome));
      }),
    });
  settling('finish', finishOperation, async (c, at) => {
    const { body, events } = parseEventsBody(await bytesOf(c), finishShape);
    return turns.finish({ ...at, attempt: body.attempt }, body.outcome, events);
  });
  settling('fail', failOperation, async (c, at) => {
    const { attempt, error, retryable } = shapedBody(failShape, await bytesOf(c));
    return turns.fail({ ...at, attempt }, { ...error, message: cut(error.message) }, retryable);
  });
  settling('wait', waitOperation, async (c, at) => {
    const { attempt, approvals } = shapedBody(waitShape, await bytesOf(c));
    const questions = approvals.map(({ approval, ...data }): Question => ({ approval, data }));
    requireDistinct(questions);
    questions.forEach((question, index) => requireRoom({ turn: at.turn, attempt }, question, index));
    return turns.wait({ ...at, attempt }, questions);
  });
  settling('release', releaseOperation, async (c, at) => {
    const { attempt } = shapedBody(releaseShape, await bytesOf(c));
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
