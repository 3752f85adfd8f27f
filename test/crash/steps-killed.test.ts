/** Kill -9 at every point of a step: one refund, and one entry of it, whoever goes on. */
import { expect, it } from 'vitest';
import { call } from '../support/gateway-calls.ts';
import { withSql } from '../support/ledger.ts';
import { ORDER } from '../support/provider.ts';
import { refundCrew } from '../support/refund-crew.ts';
import { holdCommit } from '../support/stranger.ts';

it.each([
  ['behind its business write, before the commit', 'written', 2],
  ['behind the commit of the model’s answer, before the tool', 'model journaled', 1],
  ['behind the tool, before the next answer', 'calls settled', 1],
] as const)('a worker killed %s leaves one refund with one delivery [I10] [langgraph#6208]', async (_, point, runs) => {
  const crew = await refundCrew();
  await crew.survives(point, 'transactional');
  expect([await crew.refunds(), await crew.deliveries()]).toEqual([1, 1]);
  expect(crew.provider.passed('written')).toBe(runs);
  expect(crew.provider.answers).toBe(2); // each of the turn's two answers was paid once
  expect(await crew.breaches()).toEqual([]);
});

it('a worker killed in the commit of a transactional tool, before it knows, leaves one refund, and the journal answers', async () => {
  const crew = await refundCrew();
  const stranger = await holdCommit(crew.url, ORDER, 'refund');
  const session = await crew.asked('transactional');
  const victim = await crew.employ();
  await stranger.met();
  await victim.kill();
  await stranger.release();
  await crew.employ();
  const events = await crew.hears(session, 'turn.completed');
  expect(events.filter(({ data }) => data['fromJournal'] === true)).toHaveLength(1);
  expect([await crew.refunds(), await crew.deliveries()]).toEqual([1, 1]);
  expect(crew.provider.passed('written')).toBe(1);
  expect(await crew.breaches()).toEqual([]);
});

it('a worker killed between a model’s answer and its journal asks again: paid twice, refunded once', async () => {
  const crew = await refundCrew();
  await crew.survives('model answered', 'transactional');
  expect(crew.provider.answers).toBe(3);
  expect([await crew.refunds(), await crew.deliveries()]).toEqual([1, 1]);
  expect(await crew.breaches()).toEqual([]);
});

/** Whoever is held as it arrives, and dies, has no effect: as if it had died behind its intent, and before its call. */
const points = {
  arrived: 'behind its intent, before the effect',
  applied: 'behind the effect, before its result is journaled',
  'calls settled': 'behind its result',
} as const;
const asks = {
  idempotent: { arrived: 2, applied: 2, 'calls settled': 1 },
  keyed: { arrived: 2, applied: 2, 'calls settled': 1 },
  lookup: { arrived: 2, applied: 1, 'calls settled': 1 },
  once: { 'calls settled': 1 },
} as const;

it.each(
  Object.entries(asks).flatMap(([tool, times]) =>
    Object.entries(times).map(([point, asked]) => [tool, points[point as keyof typeof points], point, asked] as const),
  ),
)('a worker in a call that is %s, killed %s, leaves one effect', async (tool, _, point, asked) => {
  const crew = await refundCrew();
  await crew.survives(point, tool);
  expect(crew.provider.applied).toHaveLength(1);
  expect(crew.provider.asked).toHaveLength(asked);
  expect(new Set(crew.provider.asked.map(({ key }) => key)).size).toBe(1);
  expect(crew.provider.answers).toBe(2);
  expect(await crew.breaches()).toEqual([]);
});

it.each([
  ['before it', 'arrived', 'not_done', 1, 2],
  ['behind it', 'applied', 'done', 1, 1],
] as const)(
  'a call that promises nothing, killed %s, ends in doubt where everybody sees it, and a person says what happened',
  async (_, point, outcome, applied, asked) => {
    const crew = await refundCrew();
    const session = await crew.survives(point, 'once');
    const events = await crew.told(session);
    expect(events.map(({ type }) => type).slice(-2)).toEqual(['step.in_doubt', 'turn.in_doubt']);
    expect(crew.provider.asked).toHaveLength(1); // never by itself
    const listed = await call(crew.at, 'GET', '/turns?which=attention');
    expect(listed.text).toContain(session);

    // Meanwhile the session goes on.
    await crew.say(session, 'keyed');
    await crew.hears(session, 'turn.completed');
    const ofOnce = ({ effect }: { effect: string }): boolean => effect === 'once';
    expect(crew.provider.asked.filter(ofOnce)).toHaveLength(1);
    // The first message is the turn's in doubt, and of no other.
    expect(await crew.breaches()).toEqual([
      `${session} 1 is an input of 0 turns that ended`,
      `${session} 1 is claimed`,
    ]);

    const turn = events.at(-1)?.turn ?? '';
    const verdict = { outcome, ...(outcome === 'done' ? { result: { refunded: 4_000 } } : {}), resume: true };
    const path = `/sessions/${session}/turns/${turn}/steps/1/resolve`;
    expect((await call(crew.at, 'POST', path, JSON.stringify(verdict))).status).toBe(200);
    await crew.hears(session, 'turn.completed', 2);
    expect(crew.provider.applied.filter(ofOnce)).toHaveLength(applied);
    expect(crew.provider.asked.filter(ofOnce)).toHaveLength(asked);
    expect(await crew.breaches()).toEqual([]);
  },
);

it('a worker in a keyed call, killed behind the effect, leaves it in doubt when its provider has forgotten the key meanwhile', async () => {
  const crew = await refundCrew();
  const held = crew.provider.hold('applied');
  const session = await crew.asked('keyed');
  const victim = await crew.employ();
  await held.met();
  await victim.kill();
  await withSql(crew.url, async (sql) => {
    await sql`update ledgerline.step set key_expires_at = clock_timestamp() - interval '1 second' where effect = 'keyed'`;
  });
  await crew.employ();
  await crew.hears(session, 'turn.in_doubt');
  expect([crew.provider.asked.length, crew.provider.applied.length]).toEqual([1, 1]); // never by itself again
});

it('of five calls that are killed when three are done, three come from the journal, and two run once [inngest#2775]', async () => {
  const crew = await refundCrew();
  const held = crew.provider.hold('arrived', [4, 5]);
  const session = await crew.asked('lookup lookup lookup lookup lookup');
  const victim = await crew.employ();
  await held.met();
  await crew.hears(session, 'step.done', 4); // the model's, and three
  await victim.kill();
  await crew.employ();
  const events = await crew.hears(session, 'turn.completed');
  // Of the attempt that followed; on a busy machine there may be another behind it.
  const [first, ...more] = events.filter(({ data }) => data['fromJournal'] === true);
  expect(more.filter(({ data }) => data['attempt'] === first?.data['attempt'])).toHaveLength(2);
  const keys = crew.provider.applied.map(({ key }) => key);
  expect([keys.length, new Set(keys).size, crew.provider.asked.length]).toEqual([5, 5, 7]);
  expect(crew.provider.answers).toBe(2);
  expect(await crew.breaches()).toEqual([]);
});
