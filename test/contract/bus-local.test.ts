/** The in-process bus keeps the contract of every bus. */
import { silentLog } from '../../src/base/log.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import { localBus } from '../../src/bus/local-bus.ts';
import { busContract } from './bus.ts';

busContract('local', async () => {
  const bus = localBus({ log: silentLog, metrics: createMetrics() });
  await bus.start();
  return { here: bus, there: bus, stop: () => bus.stop() };
});
