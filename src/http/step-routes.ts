/** A turn's journal for workers in any language, and for the person who settles what no worker can tell. */
import { LedgerlineError } from '../base/errors.ts';
import { LAST_STEP_INDEX } from '../event/step-id.ts';
import type { Steps } from '../turn/steps.ts';
import { shapedBody } from './body.ts';
import type { ReadJsonBody } from './body.ts';
import type { App, AppContext } from './context.ts';
import { mount } from './dispatch.ts';
import type { Door, SessionHandler } from './door.ts';
import { guarded } from './openapi/operation.ts';
import { startText, stepSettled, stepText } from './step-json.ts';
import { journalOperation, modelOperation, settleOperation, startOperation } from './step-operations.ts';
import { parseModelBody, resolveShape, settleShape, startShape } from './step-shape.ts';
import { turnOf } from './turn-routes.ts';

export interface StepOptions {
  readonly steps: Pick<Steps, 'journal' | 'model' | 'start' | 'settle'>;
  readonly door: Door;
  readonly readJsonBody: ReadJsonBody;
}

const TURN = '/internal/sessions/:session/turns/:turn';
const json = { 'Content-Type': 'application/json' };

export function mountSteps(app: App, { steps, door, readJsonBody }: StepOptions): void {
  // What a model or a tool says needs as much room as an event.
  const bytesOf = (c: AppContext): Promise<Buffer> => readJsonBody(c, 'appendBodyBytes');

  mount(app, `${TURN}/steps`, {
    GET: guarded(journalOperation, door, async (c, { session }) => {
      const journal = await steps.journal(session, turnOf(c));
      return c.body(`{"steps":[${journal.map(stepText).join(',')}]}`, 200, json);
    }),
  });
  mount(app, `${TURN}/steps/:index/model`, {
    POST: guarded(modelOperation, door, async (c, { session }) => {
      const [turn, index] = [turnOf(c), indexOf(c)];
      const { attempt, request, answer } = parseModelBody(await bytesOf(c));
      return c.json(stepSettled(await steps.model({ session, turn, attempt }, index, request, answer)));
    }),
  });
  mount(app, `${TURN}/steps/:index/start`, {
    POST: guarded(startOperation, door, async (c, { session }) => {
      const [turn, index] = [turnOf(c), indexOf(c)];
      const { attempt, keySeconds, ...intent } = shapedBody(startShape, await bytesOf(c));
      return c.body(startText(await steps.start({ session, turn, attempt }, index, intent, keySeconds)), 200, json);
    }),
  });
  mount(app, `${TURN}/steps/:index/settle`, {
    POST: guarded(settleOperation, door, async (c, { session }) => {
      const [turn, index] = [turnOf(c), indexOf(c)];
      const { attempt, result, error, deliveries = [], ...intent } = shapedBody(settleShape, await bytesOf(c));
      const outcome = error === undefined ? { result, deliveries } : { error };
      return c.json(stepSettled(await steps.settle({ session, turn, attempt }, index, intent, outcome)));
    }),
  });
}

/** For people: what a step in doubt came to. */
export function resolveRoute(steps: Pick<Steps, 'resolve'>, readJsonBody: ReadJsonBody): SessionHandler {
  return async (c, { session, credential }) => {
    const [turn, index] = [turnOf(c), indexOf(c)];
    const { resume, ...verdict } = shapedBody(resolveShape, await readJsonBody(c, 'appendBodyBytes'));
    await steps.resolve(session, turn, index, verdict, credential.subject, resume);
    return c.json({});
  };
}

/** The step that a path names. */
function indexOf(c: AppContext): number {
  const text = c.req.param('index') ?? '';
  const index = Number(text);
  if (/^(?:0|[1-9][0-9]*)$/.test(text) && index <= LAST_STEP_INDEX) return index;
  throw new LedgerlineError('malformed', 'the index of a step is a whole number from 0', { where: 'index' });
}
