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
import { readLimit, single } from './query.ts';
import { turnNow, turnSummary } from './turn-json.ts';

export function turnListRoute(turns: Pick<Turns, 'list'>, standsIn: StandsIn): GateHandler {
  return async (c, credential) => {
    const which = whichOf(single(c, 'which'));
    const limit = readLimit(c, limits.turnsPerListDefault, limits.turnsPerList);
    const listed = await turns.list(which, limit, filterOf(credential));
    return c.json({ turns: listed.filter(({ session }) => standsIn(credential, session)).map(turnSummary) });
  };
}

function whichOf(text: string | undefined): 'attention' | 'active' {
  if (text === undefined) return 'attention';
  if (text === 'attention' || text === 'active') return text;
  throw new LedgerlineError('malformed', 'which is attention or active', { where: 'which' });
}

/** Makes a turn go on. */
export function retryRoute(turns: Pick<Turns, 'retry'>): SessionHandler {
  return async (c, { session, credential }) =>
    c.json(turnNow(await turns.retry(session, turnOf(c), credential.subject)));
}

const rerunShape = z.strictObject({ force: z.boolean().default(false) });

/** Makes a turn again; one that has had effects, by force alone. */
export function rerunRoute(turns: Pick<Turns, 'rerun'>, readJsonBody: ReadJsonBody): SessionHandler {
  return async (c, { session, credential }) => {
    const turn = turnOf(c);
    const bytes = await readJsonBody(c, 'bodyBytes');
    const { force } = bytes.length === 0 ? { force: false } : shapedBody(rerunShape, bytes);
    return c.json(turnNow(await turns.rerun(session, turn, credential.subject, force)));
  };
}

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
