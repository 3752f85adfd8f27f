/** Runs an embedded Postgres in a process that a test may kill: prints its address, and stops it at the end of standard input. */
import { once } from 'node:events';
import { createLog } from '../../src/base/log.ts';
import { embeddedPostgres } from '../../src/db/embedded.ts';

// all modules are loaded: an ordinary user need not be able to read this repository
const { become, ...options } = JSON.parse(String(process.argv[2]));
if (become !== undefined) {
  process.setgroups?.([]);
  process.setgid?.(become);
  process.setuid?.(become);
}
// a terminal's Ctrl-C reaches the whole process group; what we do about it is not what is tested
process.on('SIGINT', () => undefined);

const embedded = embeddedPostgres({ ...options, log: createLog('info') });
await embedded.start();
process.stdout.write(`${embedded.url}\n`);
process.stdin.resume();
await once(process.stdin, 'end');
await embedded.stop();
process.exit(0);
