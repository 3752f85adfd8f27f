/** Two processes on one NATS server keep the contract of every bus. */
import { randomBytes } from 'node:crypto';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import { natsBus } from '../../src/bus/nats-bus.ts';
import { sharedNatsUrl } from '../support/services.ts';
import { busContract } from './bus.ts';

busContract('NATS', async () => {
  const subjectRoot = `test.${randomBytes(6).toString('hex')}`;
  const make = () =>
    natsBus({ url: sharedNatsUrl(), subjectRoot, log: silentLog, metrics: createMetrics(), clock: systemClock });
  const [here, there] = [make(), make()];
  await Promise.all([here.start(), there.start()]);
  return { here, there, stop: async () => void (await Promise.all([here.stop(), there.stop()])) };
});
