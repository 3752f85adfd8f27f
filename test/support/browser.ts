/** A real Chromium for a test, without a window. */
import { type Browser, chromium } from 'playwright-core';
import { inject } from 'vitest';

/** Chromium's own sandbox refuses root, as in most containers. */
export const launchBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: inject('chromium'), args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] });
