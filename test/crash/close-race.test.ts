/** Closing and deleting in the middle of 50 appends: nothing is stored after, and every reader is told the end. */
import { expect, it } from 'vitest';
import { append, closeSession, codeOf, deleteSession, metric } from '../support/gateway-calls.ts';
import type { Follower } from '../support/followers.ts';
import { countTo, storedRows, withSql } from '../support/ledger.ts';
import type { RunningGateway } from '../support/gateway.ts';
import { database, follower, freshSession, gateways } from '../support/stage.ts';
import { eventually } from '../support/waits.ts';

const ROUNDS = 5;

/** A reader at each gateway, all of them there. */
async function present(places: readonly RunningGateway[], session: string): Promise<Follower[]> {
  const readers = places.map((place) => follower('plain', place, { session }));
  for (const place of places) {
    await eventually('the reader is there', async () => (await metric(place, 'ledgerline_subscribers')) === 1);
  }
  return readers;
}

it('nothing is stored after a close that races 50 appends, and readers get exactly what was, then the end', async () => {
  const { url } = await database();
  const places = (await gateways(2, { databaseUrl: url })) as [RunningGateway, RunningGateway];
  let refusals = 0;
  for (const _ of countTo(ROUNDS)) {
    const session = await freshSession(places[0]);
    const readers = await present(places, session);
    const appends = countTo(50).map((index) => append(places[index % 2] ?? places[0], session, String(index)));
    await Promise.race(appends);
    const closed = await closeSession(places[1], session);
    expect(closed.status).toBe(200);
    const { head, state } = JSON.parse(closed.text) as { head: number; state: string };
    expect(state).toBe('closed');

    const answers = await Promise.all(appends);
    const refused = answers.filter(({ status }) => status !== 201);
    for (const answer of refused) expect([answer.status, codeOf(answer)]).toEqual([409, 'session_closed']);
    refusals += refused.length;
    expect(answers.length - refused.length, 'what the close saw is all there ever is').toBe(head);
    const stored = await storedRows(url, session);
    expect(stored.map(({ sequence }) => sequence)).toEqual(countTo(head));
    for (const reader of readers) {
      expect(await eventually('the reader is told the end', () => reader.ended())).toBe('end');
      expect(reader.sequences()).toEqual(countTo(head));
      await reader.stop();
    }
  }
  expect(refusals, 'the close came before some of the appends').toBeGreaterThan(0);
});

it('nothing is left after a delete that races 50 appends, and readers are told the end', async () => {
  const { url } = await database();
  const places = (await gateways(2, { databaseUrl: url })) as [RunningGateway, RunningGateway];
  for (const _ of countTo(ROUNDS)) {
    const session = await freshSession(places[0]);
    const readers = await present(places, session);
    const appends = countTo(50).map((index) => append(places[index % 2] ?? places[0], session, String(index)));
    await Promise.race(appends);
    expect((await deleteSession(places[1], session)).status).toBe(200);

    for (const answer of await Promise.all(appends)) {
      if (answer.status !== 201) expect([answer.status, codeOf(answer)]).toEqual([410, 'session_deleted']);
    }
    for (const reader of readers) {
      expect(await eventually('the reader is told the end', () => reader.ended())).toBe('end');
      const { length } = reader.sequences();
      expect(reader.sequences()).toEqual(countTo(length));
      await reader.stop();
    }
    await eventually('the events are erased', async () => (await storedRows(url, session)).length === 0);
    expect(codeOf(await append(places[0], session, '1'))).toBe('session_deleted');
    const [head] = await withSql(
      url,
      (sql) => sql`select state from ledgerline.session_head where session = ${session}::text`,
    );
    expect(head?.['state']).toBe('deleted');
  }
});
