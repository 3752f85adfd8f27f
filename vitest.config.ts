/** The tests behind `npm test`; those in a real browser have a configuration of their own. */
import { defineConfig } from 'vitest/config';
import { reporters } from './test/support/reporters.ts';

const files = (...folders: string[]): string[] => folders.map((folder) => `test/${folder}/**/*.test.ts`);
const globalSetup = ['test/support/global-setup.ts'];
const setupFiles = ['test/support/worker-setup.ts'];
const shared = {
  environment: 'node',
  setupFiles,
  testTimeout: 60_000,
  hookTimeout: 120_000,
  restoreMocks: true,
} as const;

/** They fill every core, or measure a process: one file after the other, when the others are done. */
const alone = ['abuse', 'disconnects', 'drain', 'slow-readers', 'storm', 'turns-load'].map(
  (name) => `test/crash/${name}.test.ts`,
);
const crash = { ...shared, globalSetup, testTimeout: 180_000 } as const;

export default defineConfig({
  test: {
    // one more than the cores of a small machine: somebody always waits for a server
    maxWorkers: 3,
    allowOnly: false,
    reporters: reporters(),
    projects: [
      // in memory: needs no server and no build
      { test: { ...shared, name: 'pure', include: files('tidy', 'unit', 'simulation') } },
      { test: { ...shared, name: 'services', globalSetup, include: files('contract', 'integration', 'protocol') } },
      // kills processes, and mostly waits: for leases to be over, and for others to start
      {
        test: {
          ...crash,
          name: 'crash',
          include: files('crash'),
          exclude: alone,
          maxWorkers: 4,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...crash,
          name: 'crash alone',
          include: alone,
          fileParallelism: false,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
