/** What a person may ask about turns: which of them need somebody, and what is to become of those. */
import { z } from 'zod';
import { LedgerlineError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { turnIdShape } from '../event/turn-id.ts';
import type { Turns } from '../turn/turns.ts';
import { filterOf } from './auth.ts';
import { shapedBody } from './body.ts';
import type { ReadJsonBody } from './body.ts';
import type { AppContext } from './context.ts';
import type { GateHandler, SessionHandler, StandsIn } from './door.ts';
import { json } from './openapi/operation.ts';
import type { Operation } from './openapi/operation.ts';
import { doneShape, turnNowShape } from './openapi/shapes.ts';
import { readLimit, single } from './query.ts';
import { turnNow, turnSummary } from './turn-json.ts';
import { turnListShape } from './turn-shape.ts';

const lists = ['attention', 'active'] as const;
type List = (typeof lists)[number];

export const turnListOperation = {
  id: 'listTurns',
  group: 'Turns',
  summary: 'List turns',
  description:
    '`attention`: failed and not acknowledged, in doubt, or waiting for a decision. `active`: queued, running, or waiting.',
  scope: 'read',
  query: z.object({
    which: z.enum(lists).default('attention'),
    limit: z.int().min(1).max(limits.turnsPerList).default(limits.turnsPerListDefault),
  }),
  answers: { 200: { description: 'Those within reach of the token.', contents: json(turnListShape) } },
} as const satisfies Operation;

export function turnListRoute(turns: Pick<Turns, 'list'>, standsIn: StandsIn): GateHandler {
  return async (c, credential) => {
    const which = whichOf(single(c, 'which'));
    const limit = readLimit(c, limits.turnsPerListDefault, limits.turnsPerList);
    const listed = await turns.list(which, limit, filterOf(credential));
    return c.json({ turns: listed.filter(({ session }) => standsIn(credential, session)).map(turnSummary) });
  };
}

function whichOf(text: string | undefined): List {
  if (text === undefined) return 'attention';
  const which = lists.find((list) => list === text);
  if (which !== undefined) return which;
  throw new LedgerlineError('malformed', 'which is attention or active', { where: 'which' });
}

const refusals = [
  'session_closed',
  'session_deleted',
  'session_busy',
  'turn_unknown',
  'turn_over',
  'turn_busy',
] as const;

export const retryOperation = {
  id: 'retryTurn',
  group: 'Turns',
  summary: 'Try a failed turn once more',
  description: 'With the same inputs and its journal, and its attempts counted anew.',
  scope: 'write',
  answers: { 200: { description: 'It is to be claimed.', contents: json(turnNowShape) } },
  refusals,
} as const satisfies Operation;

/** Makes a turn go on. */
export function retryRoute(turns: Pick<Turns, 'retry'>): SessionHandler {
  return async (c, { session, credential }) =>
    c.json(turnNow(await turns.retry(session, turnOf(c), credential.subject)));
}

const rerunShape = z
  .strictObject({ force: z.boolean().default(false).describe('Even if it has had effects.') })
  .meta({ id: 'Rerun', examples: [{ force: true }] });

export const rerunOperation = {
  id: 'rerunTurn',
  group: 'Turns',
  summary: 'Begin a new turn with the inputs of one that is over',
  scope: 'write',
  body: { isOptional: true, contents: json(rerunShape) },
  answers: { 200: { description: 'It is to be claimed.', contents: json(turnNowShape) } },
  refusals,
} as const satisfies Operation;

/** Makes a turn again; one that has had effects, by force alone. */
export function rerunRoute(turns: Pick<Turns, 'rerun'>, readJsonBody: ReadJsonBody): SessionHandler {
  return async (c, { session, credential }) => {
    const turn = turnOf(c);
    const bytes = await readJsonBody(c, 'bodyBytes');
    const { force } = bytes.length === 0 ? { force: false } : shapedBody(rerunShape, bytes);
    return c.json(turnNow(await turns.rerun(session, turn, credential.subject, force)));
  };
}

export const acknowledgeOperation = {
  id: 'acknowledgeTurn',
  group: 'Turns',
  summary: 'Take a failure off the list',
  scope: 'write',
  answers: { 200: { description: 'It is acknowledged.', contents: json(doneShape) } },
  refusals: ['session_deleted', 'session_busy', 'turn_unknown', 'turn_over'],
} as const satisfies Operation;

export function acknowledgeRoute(turns: Pick<Turns, 'acknowledge'>): SessionHandler {
  return async (c, { session }) => {
    await turns.acknowledge(session, turnOf(c));
    return c.json({});
  };
}

/** The turn that a path names. */
export function turnOf(c: AppContext): string {
  const { data, error } = turnIdShape.safeParse(c.req.param('turn'));
  if (data !== undefined) return data;
  throw new LedgerlineError('malformed', error?.issues[0]?.message ?? 'not a turn id', { where: 'turn' });
}
