/** A stream with three copies, whose servers die while it takes deliveries and gives them out. */
import { expect, it } from 'vitest';
import { startNatsCluster } from '../support/nats-cluster.ts';
import { countTo, jetStream, jumpsAhead, outboxStage, readStream } from '../support/outbox-stage.ts';
import { eventually } from '../support/waits.ts';

/** Elections, and the broker's patience with deliveries that nobody speaks of; what waits behind those follows them at once. */
const PATIENCE_MS = 120_000;

it(
  'the leader of a stream with three copies is killed, twice, amid the delivery: nothing is lost, nothing applied twice, all in order',
  async () => {
    const cluster = await startNatsCluster();
    const stage = await outboxStage();
    const { channel, stream } = await jetStream({ url: cluster.url, replicas: 3, duplicateWindowMs: 100 });
    const sessions = countTo(20).map((number) => `s${number}`);
    const total = (): Promise<number> => stage.applied().then(({ length }) => length);
    await stage.relay(channel);
    const consumer = await stage.consumer(channel);

    for (const part of [1, 2]) {
      for (const session of sessions) await stage.add(session, countTo(20));
      const before = (part - 1) * 500;
      await eventually('it is amid them', async () => (await total()) > before + 50, PATIENCE_MS);
      const leader = await cluster.leaderOf(stream);
      await cluster.kill(leader);
      for (const session of sessions) await stage.add(session, countTo(5));
      await eventually('everything is out', async () => (await stage.waiting()) === 0, PATIENCE_MS);
      await eventually('all is applied', async () => (await total()) >= part * 500, PATIENCE_MS);
      await cluster.restart(leader);
      await eventually(
        'the copies are whole',
        async () =>
          cluster.leaderOf(stream).then(
            () => true,
            () => false,
          ),
        PATIENCE_MS,
      );
    }

    for (const session of sessions) expect(await stage.applied(session)).toEqual(countTo(50));
    const { conflict = 0 } = await consumer.outcomes();
    expect(conflict).toBe(0);
    const streamed = await readStream(channel, 1_000);
    expect([...streamed.values()].flatMap(jumpsAhead)).toEqual([]);
  },
  2 * PATIENCE_MS,
);
