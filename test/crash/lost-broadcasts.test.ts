/** Broadcasts that are dropped, tripled and shuffled on their way: the head check delivers all the same [I5]. */
import { expect, it, onTestFinished } from 'vitest';
import type { RunningGateway } from '../support/gateway.ts';
import { startFaithlessNats } from '../support/faithless-nats.ts';
import type { FaithlessNats, Treatment } from '../support/faithless-nats.ts';
import type { Follower } from '../support/followers.ts';
import { append, closeSession, metric } from '../support/gateway-calls.ts';
import { countTo } from '../support/ledger.ts';
import { sharedNatsUrl } from '../support/services.ts';
import { database, follower, freshSession, gateways } from '../support/stage.ts';
import { eventually } from '../support/waits.ts';

interface Wire {
  readonly writing: RunningGateway;
  readonly nats: FaithlessNats;
  readonly session: string;
  readonly readers: readonly Follower[];
  /** Waits until every reader has so many events. */
  reach(count: number): Promise<void>;
}

/** A gateway that appends, another that hears of it over a wire that cannot be trusted, and its readers. */
async function wire(readers: number): Promise<Wire> {
  const { url } = await database();
  const nats = await startFaithlessNats(sharedNatsUrl());
  onTestFinished(() => nats.stop());
  const subjects = { LEDGERLINE_NATS_SUBJECT_ROOT: `test-${nats.port}` };
  const [[writing], [reading]] = (await Promise.all([
    gateways(1, { databaseUrl: url, environment: subjects }),
    gateways(1, { databaseUrl: url, natsUrl: nats.url, environment: subjects }),
  ])) as [[RunningGateway], [RunningGateway]];
  const session = await freshSession(writing);
  const followers = countTo(readers).map(() => follower('plain', reading, { session }));
  await eventually('the readers are there', async () => (await metric(reading, 'ledgerline_subscribers')) === readers);
  return {
    writing,
    nats,
    session,
    readers: followers,
    async reach(count) {
      await eventually(`all readers have ${count} events`, () =>
        followers.every((reader) => reader.sequences().length >= count),
      );
    },
  };
}

it('readers get everything though every broadcast is dropped, tripled or shuffled, and the last one of each lost', async () => {
  const { writing, nats, session, readers, reach } = await wire(10);
  let head = 0;
  const appendUnder = async (treatment: Treatment, count: number): Promise<void> => {
    nats.treat(treatment);
    const before = nats.mistreated;
    for (const index of countTo(count)) expect((await append(writing, session, String(index))).status).toBe(201);
    await eventually('the wire had every broadcast', () => nats.mistreated - before === count);
    head += count;
  };
  for (const treatment of ['triple', 'shuffle', 'drop'] as const) {
    // the multiple of a handful and one more: the last shuffled ones are never delivered
    await appendUnder(treatment, 60);
    // nothing follows that could reveal what is missing
    await appendUnder('drop', 1);
    await reach(head);
  }
  nats.treat('deliver');
  await append(writing, session, '"the last"');
  await reach(head + 1);
  for (const reader of readers) {
    expect(reader.sequences()).toEqual(countTo(head + 1));
    expect(reader.reconnects()).toBe(0);
  }
});

it('the stream ends though the broadcast of the close is lost', async () => {
  const { writing, nats, session, readers, reach } = await wire(3);
  await append(writing, session, '1', '2', '3');
  await reach(3);
  nats.treat('drop');
  await append(writing, session, '4');
  await closeSession(writing, session);
  await eventually('the wire had both broadcasts', () => nats.mistreated === 2);
  for (const reader of readers) {
    expect(await eventually('the reader is told the end', () => reader.ended())).toBe('end');
    expect(reader.sequences()).toEqual([1, 2, 3, 4]);
    expect(reader.reconnects()).toBe(0);
  }
});
