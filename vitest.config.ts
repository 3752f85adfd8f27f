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

export default defineConfig({
  test: {
    maxWorkers: 2,
    allowOnly: false,
    reporters: reporters(),
    projects: [
      // in memory: needs no server and no build
      { test: { ...shared, name: 'pure', include: files('tidy', 'unit', 'simulation') } },
      { test: { ...shared, name: 'services', globalSetup, include: files('contract', 'integration', 'protocol') } },
      // kills processes and fills every core: one file after the other, when the others are done
      {
        test: {
          ...shared,
          name: 'crash',
          globalSetup,
          include: files('crash'),
          testTimeout: 180_000,
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
