/** Two processes on one JetStream keep the contract of every delivery channel. */
import { randomBytes } from 'node:crypto';
import { silentLog } from '../../src/base/log.ts';
import { jetStreamChannel } from '../../src/outbox/jetstream-channel.ts';
import { sharedNatsUrl } from '../support/services.ts';
import { deliveryChannelContract } from './delivery-channel.ts';

deliveryChannelContract('JetStream', async () => {
  const subjectRoot = `test.${randomBytes(6).toString('hex')}`;
  const make = () => jetStreamChannel({ url: sharedNatsUrl(), subjectRoot, log: silentLog });
  const [here, there] = [make(), make()];
  await Promise.all([here.start(), there.start()]);
  return { here, there, stop: async () => void (await Promise.all([here.stop(), there.stop()])) };
});
