/** The bus of a process by its settings: NATS, or one that ends at the process. */
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { createMetrics } from '../base/metrics.ts';
import type { Bus } from '../bus/bus.ts';
import { localBus } from '../bus/local-bus.ts';
import { natsBus } from '../bus/nats-bus.ts';
import type { ServerConfig } from '../config.ts';

export function processBus(
  { natsUrl: url, natsSubjectRoot: subjectRoot }: Pick<ServerConfig, 'natsUrl' | 'natsSubjectRoot'>,
  log: Log,
  clock: Clock,
): Bus {
  const metrics = createMetrics();
  return url === undefined ? localBus({ log, metrics }) : natsBus({ url, subjectRoot, log, metrics, clock });
}
