/** What a page must load to follow a session stays small. */
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { bundleLibrary } from '../../support/bundle.ts';

const MOST_BYTES = 8_192;
/** The library without its bindings, each with all that it imports. */
const ENTRIES = ['follow-session', 'history', 'timeline', 'session-view'];

/** As a server sends it. */
const compressedBytes = async (entries: readonly string[]): Promise<number> =>
  gzipSync(await bundleLibrary(entries), { level: 9 }).length;

test(`the library without bindings takes at most ${MOST_BYTES} bytes, its parser included`, async () => {
  const whole = await compressedBytes(ENTRIES);
  const sizes: Record<string, number> = {};
  if (whole > MOST_BYTES) for (const entry of ENTRIES) sizes[entry] = await compressedBytes([entry]);
  expect(whole, `each with what it imports: ${JSON.stringify(sizes)}`).toBeLessThanOrEqual(MOST_BYTES);
  // a bundle that lost its exports would be small too
  expect(whole).toBeGreaterThan(2_000);
});
