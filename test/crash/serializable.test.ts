/** The whole stream on a database whose transactions are serializable by default, as some hosts have them [graphile#387]. */
import { expect, it } from 'vitest';
import type { RunningGateway } from '../support/gateway.ts';
import { append, call, closeSession, deleteSession } from '../support/gateway-calls.ts';
import { countTo } from '../support/ledger.ts';
import { database, follower, freshSession, gateways } from '../support/stage.ts';
import { eventually } from '../support/waits.ts';

it('writers that meet on a session, readers, a close and a delete work under a serializable default', async () => {
  const { url } = await database({ isolation: 'serializable' });
  const places = (await gateways(2, { databaseUrl: url })) as [RunningGateway, RunningGateway];
  const sessions = await Promise.all(countTo(3).map(() => freshSession(places[0])));
  const readers = sessions.flatMap((session) => places.map((place) => follower('plain', place, { session })));
  const writers = countTo(20).map(async (writer) => {
    for (const index of countTo(15)) {
      const at = places[(writer + index) % 2] ?? places[0];
      const answer = await append(at, sessions[index % sessions.length] ?? '', `"${writer}-${index}"`);
      expect(answer.status, answer.text).toBe(201);
    }
  });
  await Promise.all(writers);
  await Promise.all(sessions.map((session) => closeSession(places[0], session)));
  for (const reader of readers) {
    expect(await eventually('the reader is told the end', () => reader.ended())).toBe('end');
    expect(reader.sequences()).toEqual(countTo(100));
    expect(reader.reconnects()).toBe(0);
  }
  for (const session of sessions) {
    expect((await call(places[1], 'GET', `/sessions/${session}/events?after=90`)).status).toBe(200);
    expect((await deleteSession(places[1], session)).status).toBe(200);
  }
});
