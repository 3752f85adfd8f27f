/** Before the browser's tests: finds a Chromium, or installs Debian's where that is ours to do. */
import { existsSync } from 'node:fs';
import type { TestProject } from 'vitest/node';
import { installByApt, onPath, say } from './path-lookup.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    chromium: string;
  }
}

const COMMANDS = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome'];
const PLACES = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];

export default function setup(project: TestProject): void {
  const chromium = find() ?? (installByApt('chromium') ? find() : undefined);
  if (chromium === undefined) {
    throw new Error(
      'the browser tests need a Chromium: put chromium or google-chrome on the path, or name one in LEDGERLINE_TEST_CHROMIUM',
    );
  }
  say(`the browser is ${chromium}`);
  project.provide('chromium', chromium);
}

function find(): string | undefined {
  const given = process.env['LEDGERLINE_TEST_CHROMIUM'];
  if (given !== undefined && given !== '') return existsSync(given) ? given : undefined;
  return COMMANDS.map(onPath).find((path) => path !== undefined) ?? PLACES.find((path) => existsSync(path));
}
