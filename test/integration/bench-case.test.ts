/** A measurement leaves nothing of itself, also when it is ended in the middle. */
import { mkdtempSync, readdirSync, chmodSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { pidsIn, runCase } from '../../bench/case.ts';
import { eventually } from '../support/waits.ts';

function newFolder(): string {
  const folder = mkdtempSync(join(inject('runFolder'), 'bench-'));
  chmodSync(folder, 0o755);
  return folder;
}

test('a measurement that is stopped ends its servers and removes their data', async () => {
  const [within, stopping] = [newFolder(), new AbortController()];
  const told = runCase({
    name: 'commit-group',
    pace: 'full',
    deadlineMs: 120_000,
    within,
    signal: stopping.signal,
  });
  await eventually('its Postgres runs', () => pidsIn(within).length > 1 || undefined);
  stopping.abort();
  expect(await told).toBeUndefined();
  expect(pidsIn(within)).toEqual([]);
  expect(readdirSync(within)).toEqual([]);
});

test('a measurement that is not done in time has failed', async () => {
  const within = newFolder();
  const { signal } = new AbortController();
  const told = await runCase({ name: 'commit-group', pace: 'full', deadlineMs: 1, within, signal });
  expect(told).toEqual({ failure: 'it was not done within 0.001 s' });
  expect(readdirSync(within)).toEqual([]);
});

test('a measurement that throws has failed, and says how', async () => {
  const within = newFolder();
  const { signal } = new AbortController();
  const told = await runCase({ name: 'none', pace: 'quick', deadlineMs: 60_000, within, signal });
  expect(told).toMatchObject({ failure: expect.stringContaining('its process ended with') as string });
});
