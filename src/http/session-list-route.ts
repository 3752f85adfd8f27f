/** GET /sessions: what a reader may see, the latest activity first, in pages whose places are opaque. */
import { z } from 'zod';
import { LedgerlineError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { sessionIdShape } from '../event/event.ts';
import type { ListPlace } from '../ledger/ledger.ts';
import type { Sessions } from '../session/sessions.ts';
import { filterOf } from './auth.ts';
import type { GateHandler, StandsIn } from './door.ts';
import { json } from './openapi/operation.ts';
import type { Operation } from './openapi/operation.ts';
import { readLimit, single } from './query.ts';
import { listedSession } from './turn-json.ts';
import { sessionListShape } from './turn-shape.ts';

export const sessionListOperation = {
  id: 'listSessions',
  group: 'Sessions',
  summary: 'List sessions',
  description: 'Those that the token may see, the one with the latest activity first. Deleted ones are not listed.',
  scope: 'read',
  query: z.object({
    limit: z.int().min(1).max(limits.sessionsPerList).default(limits.sessionsPerListDefault),
    after: z.string().optional().describe('What the page before gave as `next`.'),
  }),
  answers: { 200: { description: 'A page of the list.', contents: json(sessionListShape) } },
} as const satisfies Operation;

export function sessionListRoute(sessions: Pick<Sessions, 'list'>, standsIn: StandsIn): GateHandler {
  return async (c, credential) => {
    const range = {
      limit: readLimit(c, limits.sessionsPerListDefault, limits.sessionsPerList),
      after: placeOf(single(c, 'after')),
    };
    const page = await sessions.list(filterOf(credential), range, credential.subject);
    const listed = page.sessions.filter(({ session }) => standsIn(credential, session));
    const next = page.next ? placeText(page.next) : null;
    return c.json({ sessions: listed.map(listedSession), next } satisfies z.infer<typeof sessionListShape>);
  };
}

/** Opaque, so that nobody builds one, and the order may change some day. */
const placeText = ({ activityUs, session }: ListPlace): string =>
  Buffer.from(`${activityUs}.${session}`).toString('base64url');

const placeShape = z.tuple([z.int().min(0), sessionIdShape]);

/** The text that was given out for a place, and no other. */
function placeOf(text: string | undefined): ListPlace | undefined {
  if (text === undefined) return undefined;
  const [activityText = '', id] = Buffer.from(text, 'base64url').toString('latin1').split('.');
  const { data } = placeShape.safeParse([Number(activityText), id]);
  const place = data && { activityUs: data[0], session: data[1] };
  if (place !== undefined && placeText(place) === text) return place;
  throw new LedgerlineError('malformed', 'after is what a page of the list gave as next', { where: 'after' });
}
