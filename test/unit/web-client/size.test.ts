/** What a page must load to follow a session stays small. */
import { brotliCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { bundleLibrary } from '../../support/bundle.ts';

/** As a server sends it. The most that each may take, with all that it imports. */
const parts: readonly { readonly what: string; readonly entries: readonly string[]; readonly mostBytes: number }[] = [
  {
    what: 'following a session, with one connection for all tabs, its history and the parser',
    entries: ['follow-session', 'history'],
    mostBytes: 8_000,
  },
  { what: 'the timeline, with what the agent does', entries: ['timeline'], mostBytes: 4_500 },
  { what: 'sending', entries: ['sender'], mostBytes: 4_200 },
  { what: 'following and sending', entries: ['follow-session', 'history', 'sender'], mostBytes: 10_300 },
];

test.each(parts)('$what takes at most $mostBytes bytes, compressed', async ({ entries, mostBytes }) => {
  const bytes = brotliCompressSync(await bundleLibrary(entries)).length;
  expect(bytes).toBeLessThanOrEqual(mostBytes);
  // a bundle that lost its exports would be small too
  expect(bytes).toBeGreaterThan(mostBytes / 2);
});
