/** The list of sessions, and how far each is read. */
import { expect, test } from 'vitest';
import { listSessions, markRead } from '../../../web-client/src/session-list.ts';
import { problem, ScriptedSession } from '../../support/scripted-session.ts';

const placeOf = (session: ScriptedSession) => ({
  url: 'http://ledgerline.test/',
  token: 'secret',
  fetch: session.fetch,
});

test('a page is asked for by where it begins and how long it is', async () => {
  const session = new ScriptedSession();
  const page = { sessions: [{ session: 's1', unread: true }], next: 'x' };
  session.meet = () => Response.json(page);
  expect(await listSessions(placeOf(session))).toEqual(page);
  await listSessions({ ...placeOf(session), limit: 20, after: 'a+b=' });
  expect(session.asked.map(({ path, query }) => path + query)).toEqual([
    '/sessions',
    '/sessions?limit=20&after=a%2Bb%3D',
  ]);
});

test('a position is said, and answered with how far that is', async () => {
  const session = new ScriptedSession();
  session.meet = () => Response.json({ read: 44 });
  expect(await markRead({ ...placeOf(session), session: 's1', sequence: 41 })).toEqual({ read: 44 });
  expect(session.asked).toMatchObject([{ method: 'POST', path: '/sessions/s1/read', body: { sequence: 41 } }]);
});

test('what is no list, and a refusal, are errors with their reason', async () => {
  const session = new ScriptedSession();
  session.meet = () => Response.json({ sessions: 'none' });
  await expect(listSessions(placeOf(session))).rejects.toMatchObject({ code: 'not_ledgerline' });
  session.meet = () => Response.json({});
  await expect(markRead({ ...placeOf(session), session: 's1', sequence: 1 })).rejects.toMatchObject({
    code: 'not_ledgerline',
  });
  session.meet = () => problem(403, 'forbidden');
  await expect(listSessions(placeOf(session))).rejects.toMatchObject({ code: 'refused', problem: 'forbidden' });
  const aborted = AbortSignal.abort();
  await expect(listSessions({ ...placeOf(session), signal: aborted })).rejects.toBeDefined();
});
