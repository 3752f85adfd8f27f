/** What the guards of a delivery are for: without one of them it is lost, or applied twice. */
import { expect, it } from 'vitest';
import { deliveryProcesses, forgetful } from '../support/delivery-processes.ts';
import { jetStream, outboxStage } from '../support/outbox-stage.ts';
import { startProvider } from '../support/provider.ts';
import { holdCommit, waitAtCommitOf } from '../support/stranger.ts';
import { eventually } from '../support/waits.ts';

it('a relay that marks before it publishes, killed between them, has lost the delivery', async () => {
  const stage = await outboxStage();
  const { channel, subjectRoot, url: natsUrl } = await jetStream();
  const processes = deliveryProcesses({ databaseUrl: stage.url, natsUrl, subjectRoot });
  const points = await startProvider();
  // Left alone, it delivers.
  await stage.add('b', ['refund']);
  const lucky = await processes.hastyRelay(points.url);
  await eventually('it has delivered', async () => (await channel.stored('b', 0)).has(1));
  await lucky.kill();

  const held = points.hold('marked');
  await stage.add('a', ['refund']);
  const victim = await processes.hastyRelay(points.url);
  await held.met();
  await victim.kill();

  await stage.add('a', ['another']);
  await processes.relay();
  await eventually('everything seems to be out', async () => (await stage.waiting()) === 0);
  expect(await channel.stored('a', 0)).toEqual(new Set([2]));
});

it('a consumer that remembers in memory, killed behind its commit, before it acknowledges, applies it twice', async () => {
  const stage = await outboxStage();
  const { subjectRoot, url: natsUrl } = await jetStream();
  const processes = deliveryProcesses({ databaseUrl: stage.url, natsUrl, subjectRoot });
  await waitAtCommitOf(stage.url, 'applied', 'session');
  await stage.add('a', ['refund']);
  const stranger = await holdCommit(stage.url, 'a', 'applied');
  await processes.relay();
  const victim = await processes.consumer(forgetful);
  await stranger.met();
  await victim.kill();
  await stranger.release();
  await processes.consumer(forgetful);
  await eventually('it is applied again', async () => (await stage.applied('a')).length > 1, 50_000);
  expect(await stage.applied('a')).toEqual([1, 1]);
});
