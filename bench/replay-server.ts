/** The gateway under measurement, in a process of its own: tells its address, then its CPU time and memory when asked. */
import { silentLog } from '../src/base/log.ts';
import { readServerConfig } from '../src/config.ts';
import { createGateway } from '../src/gateway.ts';

export interface Usage {
  readonly cpuMicros: number;
  readonly residentBytes: number;
}

const gateway = createGateway(readServerConfig(process.env), silentLog);
await gateway.start();
process.send?.(gateway.internalUrl);
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  const usage: Usage = { cpuMicros: user + system, residentBytes: process.memoryUsage.rss() };
  process.send?.(usage);
});
process.on('disconnect', () => process.exit());
