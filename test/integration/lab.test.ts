/** What the lab loses is repaired as everything else is, and its marks say what was lost and what repaired it. */
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createLab } from '../../src/lab/lab.ts';
import type { LabState } from '../../src/lab/lab.ts';
import type { Mark } from '../../src/lab/marks.ts';
import { fastClock } from '../support/fast-clock.ts';
import { append, closeSession, metric } from '../support/gateway-calls.ts';
import { startInProcessGateway } from '../support/in-process-gateway.ts';
import { appendNumbers, newSession, roomOf, subscribersOf } from '../support/session-calls.ts';
import { readStream } from '../support/sse-reader.ts';
import { eventually } from '../support/waits.ts';
import { range } from '../support/world.ts';

/** A gateway with a lab, a session with three events, and somebody who follows it. */
async function setUp({ clock = systemClock } = {}) {
  const lab = createLab({ clock, restartGateway: () => undefined });
  const gateway = await startInProcessGateway({ overrides: { lab, clock } });
  onTestFinished(() => gateway.stop());
  const session = await newSession(gateway, 3);
  const headers = { authorization: `Bearer ${await gateway.token()}`, 'content-type': 'application/json' };
  const follow = async () => {
    const reader = await readStream(`${gateway.publicUrl}/sessions/${session}/stream`, headers);
    onTestFinished(() => reader.close());
    await reader.frame('connected');
    return reader;
  };
  const reader = await follow();
  const ask = async (path: string, body?: object): Promise<unknown> => {
    const answer = await fetch(`${gateway.publicUrl}/lab${path}`, {
      headers,
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    });
    expect(answer.status).toBe(path === '/faults' ? 202 : 200);
    return answer.json();
  };
  const marks = async (): Promise<(string | number)[][]> => {
    const { marks: list } = (await ask(`/sessions/${session}/marks`)) as { marks: Mark[] };
    return list.map((mark) => [mark.kind, ...(mark.kind === 'repaired' ? [mark.by] : []), mark.first, mark.last]);
  };
  return {
    gateway,
    session,
    reader,
    follow,
    marks,
    state: () => ask('') as Promise<LabState>,
    commit: (fault: string) => ask('/faults', { fault, session }),
    pauseHeadCheck: (isPaused: boolean) => ask('/head-check', { isPaused }),
    sequences: () => reader.frames.filter(({ event }) => event === 'message').map(({ id }) => Number(id)),
  };
}

test('the next broadcast is lost, and the gap before the one after it is repaired', async () => {
  const { gateway, session, reader, marks, state, commit, pauseHeadCheck, sequences } = await setUp();
  // So that nothing but the gap can have repaired it.
  await pauseHeadCheck(true);
  await commit('drop_next');
  expect((await state()).dropsNext).toBe(true);
  await appendNumbers(gateway, session, 2);
  expect(await marks()).toEqual([['lost', 4, 5]]);
  expect((await state()).dropsNext).toBe(false);
  await appendNumbers(gateway, session, 1);
  await reader.events(6);
  expect(sequences()).toEqual(range(1, 6));
  expect(await marks()).toEqual([
    ['lost', 4, 5],
    ['repaired', 'gap', 4, 5],
  ]);
});

test('the last broadcast of a burst is lost, and the head check repairs it', async () => {
  const { reader, marks, commit, sequences } = await setUp();
  await commit('drop_last_of_burst');
  const events = await reader.events(8);
  expect(sequences()).toEqual(range(1, 8));
  expect(events.slice(3).map(({ data }) => (JSON.parse(data) as { data: unknown }).data)).toEqual(
    range(1, 5).map((place) => ({ text: `burst ${place} of 5` })),
  );
  const left = await marks();
  expect(left.filter(([kind]) => kind === 'lost')).toEqual([['lost', 8, 8]]);
  // A check may overtake a broadcast that is late, which is no loss; not the one that never comes.
  expect(left.slice(-1)).toEqual([['repaired', 'head', 8, 8]]);
});

test('the last event stays unseen while the head check is paused, however long, and is seen when it goes on', async () => {
  // Fifty seconds a second: a check that went on would have come many times.
  const { gateway, session, reader, marks, commit, pauseHeadCheck, sequences } = await setUp({ clock: fastClock(50) });
  await pauseHeadCheck(true);
  await commit('drop_last_of_burst');
  await reader.events(7);
  const before = await metric(gateway, 'ledgerline_head_reads_total');
  const syncs = (): number => reader.text().split('event: sync\n').length;
  const first = syncs();
  await eventually('two sync intervals are over', () => syncs() >= first + 2);
  expect(sequences()).toEqual(range(1, 7));
  expect((await roomOf(gateway, session))?.watermark).toBe(7);
  expect(await metric(gateway, 'ledgerline_head_reads_total')).toBe(before);
  expect(await marks()).toEqual([['lost', 8, 8]]);
  await pauseHeadCheck(false);
  await reader.events(8);
  expect(await marks()).toEqual([
    ['lost', 8, 8],
    ['repaired', 'head', 8, 8],
  ]);
});

test('while the head check is paused a reader that joins gets everything, and so do the others', async () => {
  const { gateway, session, reader, follow, commit, pauseHeadCheck } = await setUp();
  await pauseHeadCheck(true);
  await commit('drop_last_of_burst');
  const late = await follow();
  await late.events(8);
  await reader.events(8);
  expect(await subscribersOf(gateway, session)).toBe(2);
});

test('a stopped bus loses everything for a while, head checks carry the readers, and then it is back', async () => {
  const { gateway, session, reader, marks, state, commit, sequences } = await setUp();
  await commit('stop_bus');
  expect((await state()).isBusStopped).toBe(true);
  for (const place of range(1, 3)) {
    await appendNumbers(gateway, session, 1);
    await reader.events(3 + place);
  }
  const during = await marks();
  expect(during.filter(([kind]) => kind === 'lost')).toEqual([
    ['lost', 4, 4],
    ['lost', 5, 5],
    ['lost', 6, 6],
  ]);
  expect(during.filter(([kind]) => kind === 'repaired')).toEqual([
    ['repaired', 'head', 4, 4],
    ['repaired', 'head', 5, 5],
    ['repaired', 'head', 6, 6],
  ]);
  await eventually('the bus is back', async () => !(await state()).isBusStopped);
  await appendNumbers(gateway, session, 1);
  await reader.events(7);
  expect(sequences()).toEqual(range(1, 7));
  expect(await marks()).toHaveLength(6);
});

test('a stream ends although the broadcast of its close was lost', async () => {
  const { gateway, session, reader, commit } = await setUp();
  await commit('stop_bus');
  await append(gateway, session, '"last"');
  await closeSession(gateway, session);
  await reader.ended();
  expect(reader.frames.slice(-2).map(({ event, id }) => [event, id])).toEqual([
    ['message', '4'],
    ['end', '4'],
  ]);
});
