/** A worker process whose loop is blocked beyond its lease ends itself, and one that lives is left alone. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { workingFolder } from '../support/stage.ts';

const module = (name: string): string => new URL(`../../dist/${name}.js`, import.meta.url).href;

/** A process of its own with a watchdog; it hangs if the watchdog does nothing. */
function run(script: string) {
  const setUp = `
    import { createWatchdog } from ${JSON.stringify(module('worker/watchdog'))};
    import { createLog } from ${JSON.stringify(module('base/log'))};
    const watchdog = createWatchdog(createLog('info'));
    const blockFor = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  `;
  // A file, since what node was told about a script on its command line it tells its threads, too.
  const path = join(workingFolder(), 'watched.mjs');
  writeFileSync(path, setUp + script);
  return spawnSync(process.execPath, [path], { encoding: 'utf8', timeout: 30_000 });
}

test('a loop that is blocked while it holds a lease is ended, with a line that says why [oban#1141]', () => {
  const { signal, status, stderr, stdout } = run(`
    watchdog.beat(300);
    console.log('blocked');
    for (;;);
  `);
  expect([signal, status, stdout]).toEqual(['SIGKILL', null, 'blocked\n']);
  expect(JSON.parse(stderr)).toMatchObject({ level: 60, msg: expect.stringContaining('the loop is blocked') });
});

test('a loop that holds no lease may be blocked for as long as it likes, and one that beats in time lives', () => {
  const { signal, status, stdout, stderr } = run(`
    watchdog.beat(600_000);
    watchdog.beat(undefined);
    blockFor(1_000);
    watchdog.beat(600_000);
    blockFor(1_000);
    watchdog.beat(600_000);
    console.log('alive');
    await watchdog.stop();
    blockFor(100);
  `);
  expect([signal, status, stdout, stderr]).toEqual([null, 0, 'alive\n', '']);
});
