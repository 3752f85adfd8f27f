/** Kill -9 between the outbox, the broker and whoever applies: every delivery once, and in the order of its session. */
import { expect, it, onTestFinished } from 'vitest';
import { deliveryProcesses, sound } from '../support/delivery-processes.ts';
import { countTo, jetStream, jumpsAhead, outboxStage, readStream } from '../support/outbox-stage.ts';
import type { OutboxStage } from '../support/outbox-stage.ts';
import { startFaithlessNats } from '../support/faithless-nats.ts';
import { ORDER } from '../support/provider.ts';
import { refundCrew } from '../support/refund-crew.ts';
import { holdCommit, holdDeliveries, waitAtCommitOf } from '../support/stranger.ts';
import { eventually } from '../support/waits.ts';
import type { WorkerProcess } from '../support/worker-process.ts';

type Consumer = Awaited<ReturnType<OutboxStage['consumer']>>;

/** Above a relay's lease, and above the broker's patience with a delivery that nobody speaks of. */
const PATIENCE_MS = 50_000;

/** An outbox, a stream whose broker forgets at once what it has stored, and processes about them. */
async function world() {
  const stage = await outboxStage();
  const { channel, subjectRoot, url: natsUrl } = await jetStream({ duplicateWindowMs: 100 });
  const processes = deliveryProcesses({ databaseUrl: stage.url, natsUrl, subjectRoot });
  return { stage, channel, natsUrl, processes };
}

const isOut = (stage: OutboxStage): Promise<boolean> =>
  eventually('everything is out', async () => (await stage.waiting()) === 0, PATIENCE_MS);
const isApplied = (stage: OutboxStage, count: number, patienceMs = PATIENCE_MS): Promise<boolean> =>
  eventually('all is applied', async () => (await stage.applied()).length >= count, patienceMs);
const knows = (consumer: Consumer, repeats: number): Promise<boolean> =>
  eventually(
    `${repeats} repeats are known`,
    async () => (await consumer.outcomes())['duplicate'] === repeats,
    PATIENCE_MS,
  );

/** The one of them that publishes a session's deliveries; it names itself in its first line. */
async function relayOf(stage: OutboxStage, session: string, relays: readonly WorkerProcess[]): Promise<WorkerProcess> {
  const [owner] = await stage.sql(
    (sql) => sql<{ relay: string }[]>`
      select s.relay_id as relay from ledgerline.relay_shard s join ledgerline.outbox o on o.shard = s.shard
       where o.session = ${session}::text limit 1`,
  );
  const found = relays.find((one) => one.lines().some((line) => line.includes(`"relay":"${owner?.relay}"`)));
  if (found === undefined) throw new Error(`no relay is named ${owner?.relay}`);
  return found;
}

it('a relay killed behind its publish, before the mark, is followed by one that publishes again, and each is applied once', async () => {
  const { stage, channel, processes } = await world();
  await stage.add('a', [1, 2, 3]);
  const stranger = await holdDeliveries(stage.url, 'a');
  const victim = await processes.relay();
  await stranger.met();
  await victim.kill();
  await stranger.sever();
  expect((await stage.rows('a')).map(({ state }) => state)).toEqual(['waiting', 'waiting', 'waiting']);
  expect(await channel.stored('a', 0)).toEqual(new Set([1, 2, 3]));

  await processes.relay();
  await isOut(stage);
  expect(await readStream(channel, 3)).toEqual(new Map([['a', [1, 2, 3, 1, 2, 3]]]));
  const consumer = await stage.consumer(channel);
  await knows(consumer, 3);
  expect(await stage.applied('a')).toEqual([1, 2, 3]);
});

it('a relay that is frozen in the middle of a publish past its lease changes nothing when it wakes', async () => {
  const { stage, channel, natsUrl, processes } = await world();
  const faithless = await startFaithlessNats(natsUrl);
  onTestFinished(() => faithless.stop());
  const frozen = await processes.relay(faithless.url);
  faithless.treat('drop');
  await stage.add('a', countTo(5));
  await eventually('the first is stored, and not yet acknowledged', async () => (await channel.stored('a', 0)).has(1));
  frozen.freeze();
  await processes.relay();
  await isOut(stage);
  faithless.treat('deliver');
  frozen.thaw();
  await eventually('it learns that its shards are another’s', () =>
    frozen.lines().some((line) => line.includes('another relay’s now')),
  );

  await stage.add('a', countTo(2));
  await isOut(stage);
  await stage.consumer(channel);
  await isApplied(stage, 7);
  expect(await stage.applied('a')).toEqual(countTo(7));
  expect(jumpsAhead((await readStream(channel, 7)).get('a') ?? [])).toEqual([]);
});

it('a consumer killed behind its commit, before it acknowledges, gets the delivery again, and has applied it once', async () => {
  const { stage, channel, processes } = await world();
  await waitAtCommitOf(stage.url, 'applied', 'session');
  await stage.add('a', [1, 2]);
  const stranger = await holdCommit(stage.url, 'a', 'applied');
  await processes.relay();
  const victim = await processes.consumer();
  await stranger.met();
  await victim.kill();
  await stranger.release();
  await isApplied(stage, 1);
  const consumer = await stage.consumer(channel);
  await isApplied(stage, 2);
  await knows(consumer, 1);
  expect(await stage.applied('a')).toEqual([1, 2]);
});

it.each([
  ['a hundred sessions', 100],
  ['one session', 1],
])(
  'of three relays two are killed amid a thousand deliveries of %s: each is applied once, in order [kafkaflow-contrib#24]',
  async (_, count) => {
    const { stage, channel, processes } = await world();
    const sessions = countTo(count).map((number) => `s${number}`);
    const session = sessions[Math.floor(count / 2)] ?? '';
    for (const each of sessions) await stage.add(each, countTo(400 / count));
    const held = await holdDeliveries(stage.url, session);
    const relays = await Promise.all([processes.relay(), processes.relay(), processes.relay()]);
    await held.met();
    await (await relayOf(stage, session, relays)).kill();
    await held.sever();

    // At once: whoever takes the dead one's place may have marked them before the others are added.
    const again = await holdDeliveries(stage.url, session);
    for (const each of sessions) await stage.add(each, countTo(600 / count));
    await again.met(PATIENCE_MS);
    await (await relayOf(stage, session, relays)).kill();
    await again.sever();
    expect(relays.filter(({ isRunning }) => isRunning)).toHaveLength(1);
    await isOut(stage);

    const streamed = await readStream(channel, 1_000);
    expect([...streamed.values()].flatMap(jumpsAhead)).toEqual([]);
    await stage.consumer(channel);
    await isApplied(stage, 1_000, 2 * PATIENCE_MS); // of one session one after another
    for (const each of sessions) expect(await stage.applied(each)).toEqual(countTo(1_000 / count));
  },
);

it('a refund whose worker, relay and consumer are all killed is one refund, delivered and applied once', async () => {
  const crew = await refundCrew();
  const stage = await outboxStage(crew.url);
  await waitAtCommitOf(crew.url, 'applied', 'session');
  const {
    channel,
    subjectRoot,
    url: natsUrl,
  } = await jetStream({
    subjectRoot: crew.subjectRoot,
    duplicateWindowMs: 100,
  });
  const processes = deliveryProcesses({ databaseUrl: crew.url, natsUrl, subjectRoot });

  const committing = await holdCommit(crew.url, ORDER, 'refund');
  const session = await crew.asked('transactional');
  const worker = await crew.employ();
  await committing.met();
  await worker.kill();
  await committing.release();

  const marking = await holdDeliveries(crew.url, session);
  const applying = await holdCommit(crew.url, session, 'applied');
  const relay = await processes.relay();
  await marking.met();
  await relay.kill();
  await marking.sever();
  const victim = await processes.consumer(sound, ['refund.issued']);
  await applying.met();
  await victim.kill();
  await applying.release();

  await Promise.all([crew.employ(), processes.relay()]);
  const consumer = await stage.consumer(channel, { topics: ['refund.issued'] });
  await crew.hears(session, 'turn.completed');
  await isOut(stage);
  await knows(consumer, 2); // what the broker gives again, and what the second relay published again
  expect([await crew.refunds(), await crew.deliveries(), await stage.applied(session)]).toEqual([1, 1, [1]]);
  expect(await crew.breaches()).toEqual([]);
});
