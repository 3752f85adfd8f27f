/** How most tests of a gateway begin, and what they ask in between: a session, numbers in it, and who watches it. */
import { randomUUID } from 'node:crypto';
import { append, call, createSession } from './gateway-calls.ts';
import type { Place } from './gateway-calls.ts';
import { eventually } from './waits.ts';
import { range } from './world.ts';

/** A session of the calling test's own, with so many events. */
export async function newSession(place: Place, count = 0): Promise<string> {
  const session = `session-${randomUUID()}`;
  await expectStatus(201, createSession(place, session));
  if (count > 0) await appendNumbers(place, session, count);
  return session;
}

/** So many events, in one append. */
export const appendNumbers = (place: Place, session: string, count: number): Promise<void> =>
  expectStatus(201, append(place, session, ...range(1, count).map(String)));

async function expectStatus(status: number, answering: ReturnType<typeof call>): Promise<void> {
  const answer = await answering;
  if (answer.status !== status) throw new Error(`answered ${answer.status}: ${answer.text}`);
}

/** Null when nobody of this process watches the session, nor did a moment ago. */
export async function roomOf(
  place: Place,
  session: string,
): Promise<{ watermark: number; subscribers: number } | null> {
  const { text } = await call(place, 'GET', `/sessions/${session}`);
  return (JSON.parse(text) as { room: { watermark: number; subscribers: number } | null }).room;
}

export const subscribersOf = async (place: Place, session: string): Promise<number> =>
  (await roomOf(place, session))?.subscribers ?? 0;

export const noSubscribers = (place: Place, session: string): Promise<unknown> =>
  eventually('no subscriber is left', async () => (await subscribersOf(place, session)) === 0);

/** Of the events in a stream's text: its frames without a name. */
export const sequencesIn = (text: string): number[] =>
  [...text.matchAll(/\n\nid: (\d+)\ndata: /g)].map(([, id]) => Number(id));
