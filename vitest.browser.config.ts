/** The tests in a real browser, behind `npm run test:browser`. */
import { defineConfig } from 'vitest/config';
import { reporters } from './test/support/reporters.ts';

export default defineConfig({
  test: {
    name: 'browser',
    include: ['test/browser/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts', 'test/support/browser-setup.ts'],
    setupFiles: ['test/support/worker-setup.ts'],
    environment: 'node',
    testTimeout: 120_000,
    hookTimeout: 120_000,
    fileParallelism: false,
    allowOnly: false,
    reporters: reporters(),
  },
});
