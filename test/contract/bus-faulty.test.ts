/** A bus that the lab may spoil keeps the contract of every bus while nothing is asked of it. */
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import { localBus } from '../../src/bus/local-bus.ts';
import { createLab } from '../../src/lab/lab.ts';
import { busContract } from './bus.ts';

busContract('faulty', async () => {
  const lab = createLab({ clock: systemClock, restartGateway: () => undefined });
  const bus = lab.spoil(localBus({ log: silentLog, metrics: createMetrics() }));
  await bus.start();
  return { here: bus, there: bus, stop: () => bus.stop() };
});
