/** The thread of the watchdog: waits for the loop's next beat, and ends the process when it does not come in time. */
import { writeSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { systemClock } from '../base/clock.ts';
import { shared } from './watchdog.ts';

const memory = workerData as Int32Array;
const STANDARD_ERROR = 2;

for (;;) {
  const beats = Atomics.load(memory, shared.beats);
  const remainingMs = Atomics.load(memory, shared.overdueInMs);
  const woken = Atomics.wait(memory, shared.beats, beats, remainingMs === 0 ? Infinity : remainingMs);
  if (woken === 'timed-out') endProcess();
}

/** The log of the process hangs with its loop, and so would an orderly end: whatever was promised is in the ledger. */
function endProcess(): void {
  const time = new Date(systemClock.wall()).toISOString();
  const msg =
    'the loop is blocked, and the leases of its turns are overdue: the process ends, so that it cannot act any more';
  writeSync(STANDARD_ERROR, `${JSON.stringify({ level: 60, time, msg })}\n`);
  process.kill(process.pid, 'SIGKILL');
}
