/** The crash lab without a Postgres: a run that cannot be carried out says so, and does not keep the next one from beginning. */
import { expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { createCrashLab } from '../../src/crash/crash-lab.ts';
import { eventually } from '../support/waits.ts';

const setUp = () =>
  createCrashLab({
    databaseUrl: 'postgres://nobody@127.0.0.1:1/nothing',
    databasePrepare: true,
    program: 'never-run.js',
    folder: '.',
    log: silentLog,
    clock: systemClock,
  });

it('a run that cannot be carried out has failed, says why, and is followed by another', async () => {
  const lab = setUp();
  expect(lab.newest()).toBeUndefined();
  const first = lab.begin({ point: 'nowhere', without: [] });
  expect(first).toMatchObject({ state: 'preparing', point: 'nowhere', without: [], notes: [] });
  expect(lab.begin({ point: 'refund_written', without: ['inbox'] })).toBe(first);
  await eventually('it has failed', () => lab.newest()?.state === 'failed');
  expect(lab.newest()).toMatchObject({
    id: first.id,
    problem: 'Postgres is away',
    verdict: undefined,
    before: undefined,
  });
  const second = lab.begin({ point: 'refund_written', without: ['inbox'] });
  expect(second).toMatchObject({ state: 'preparing', point: 'refund_written', without: ['inbox'] });
  expect(second.id).not.toBe(first.id);
  await lab.stop();
  expect(lab.newest()?.state).toBe('failed');
});
