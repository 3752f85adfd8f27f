/** Workers that hang in the middle of a call, beyond their leases, and wake: what they did is known, and what they do then is refused. */
import { expect, it } from 'vitest';
import { refundCrew } from '../support/refund-crew.ts';
import { eventually } from '../support/waits.ts';
import type { WorkerProcess } from '../support/worker-process.ts';

/** By its watchdog, unless its loop is the first to look at the clock. */
const givesUp = (worker: WorkerProcess): Promise<boolean> =>
  eventually('it has given the turn up', () => {
    return !worker.isRunning || worker.lines().some((line) => line.includes('an attempt ends unsettled'));
  });

it('a transactional tool that is frozen behind its write while another worker takes the turn is rolled back, and refunds once [I11]', async () => {
  const crew = await refundCrew();
  const held = crew.provider.hold('written');
  const session = await crew.asked('transactional');
  const frozen = await crew.employ();
  await held.met();
  frozen.freeze();
  await crew.employ();
  await crew.hears(session, 'turn.started', 2); // its tool waits for the first one's
  held.release();
  frozen.thaw();
  await givesUp(frozen);
  await crew.hears(session, 'turn.completed');
  expect([await crew.refunds(), await crew.deliveries()]).toEqual([1, 1]);
  expect(crew.provider.passed('written')).toBe(2);
  expect(crew.provider.answers).toBe(2);
  expect(await crew.breaches()).toEqual([]);
});

it.each([
  ['idempotent', 2],
  ['keyed', 2],
  ['lookup', 1],
] as const)(
  'a call of a tool that is %s, frozen behind its effect while another worker settles it, changes nothing when it wakes',
  async (tool, asked) => {
    const crew = await refundCrew();
    const held = crew.provider.hold('applied');
    const session = await crew.asked(tool);
    const frozen = await crew.employ();
    await held.met();
    frozen.freeze();
    await crew.employ();
    await crew.hears(session, 'turn.completed');
    const head = (await crew.told(session)).length;
    held.release();
    frozen.thaw();
    await givesUp(frozen);
    expect(await crew.told(session)).toHaveLength(head);
    expect(crew.provider.applied).toHaveLength(1);
    expect(crew.provider.asked).toHaveLength(asked);
    expect(await crew.breaches()).toEqual([]);
  },
);

it('a call that promises nothing, frozen behind its effect, is in doubt, stays so when it wakes, and is never made again', async () => {
  const crew = await refundCrew();
  const held = crew.provider.hold('applied');
  const session = await crew.asked('once');
  const frozen = await crew.employ();
  await held.met();
  frozen.freeze();
  await crew.employ();
  const doubted = await crew.hears(session, 'turn.in_doubt');
  held.release();
  frozen.thaw();
  await givesUp(frozen);
  expect(await crew.told(session)).toEqual(doubted);
  expect(crew.provider.asked).toHaveLength(1);
});
