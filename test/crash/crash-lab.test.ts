/** The crash lab with real processes: whatever dies where, one refund and one entry of it; and each safeguard was for something. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { isAlive } from '../../src/db/process-table.ts';
import type { CrashPoint, CrashVerdict, Safeguard } from '../../src/lab/crash-lab.ts';
import { crashLab, runOf } from '../support/crash-runs.ts';
import { workingFolder } from '../support/stage.ts';
import { eventually } from '../support/waits.ts';

/** What is there when the process has died: refunds, deliveries and entries; and how often the model was asked in the end. */
it.each<[CrashPoint, [number, number, number] | undefined, number]>([
  ['nowhere', undefined, 2],
  ['model_answered', [0, 0, 0], 3],
  ['model_journaled', [0, 0, 0], 2],
  ['refund_written', [0, 0, 0], 2],
  ['refund_committed', [1, 1, 0], 2],
  ['delivery_published', [1, 1, 1], 2],
  ['entry_committed', [1, 1, 1], 2],
])('a process killed at %s leaves one refund and one entry of it [I10] [I15]', async (point, before, modelCalls) => {
  const run = await runOf(await crashLab(), { point, without: [] });
  expect(run).toMatchObject({ state: 'over', verdict: { kind: 'once' }, after: { turn: 'done', modelCalls } });
  const left = run.before && [run.before.refunds, run.before.outbox, run.before.entries].map((rows) => rows.length);
  expect(left).toEqual(before);
  const key = run.after?.refunds[0]?.key;
  expect(run.after?.refunds).toMatchObject([{ order: '7731', cents: 40 }]);
  expect(run.after?.entries).toMatchObject([{ refund: key, order: '7731', cents: 40 }]);
  expect(run.after?.outbox).toEqual([{ number: 1, topic: 'refund.issued', state: 'published', step: 2 }]);
  expect(run.after?.journal.map(({ index, kind, tool, state }) => [index, kind, tool, state])).toEqual([
    [0, 'model', undefined, 'done'],
    [1, 'tool', 'lookup_order', 'done'],
    [2, 'tool', 'issue_refund', 'done'],
    [3, 'input', undefined, 'done'],
    [4, 'model', undefined, 'done'],
  ]);
});

it.each<[Safeguard, CrashPoint, CrashVerdict, number, number]>([
  ['transaction', 'refund_committed', { kind: 'lost', what: 'refund' }, 0, 1],
  ['step_key', 'refund_committed', { kind: 'doubled', what: 'refund' }, 2, 2],
  ['inbox', 'delivery_published', { kind: 'doubled', what: 'entry' }, 1, 2],
  ['inbox', 'entry_committed', { kind: 'doubled', what: 'entry' }, 1, 2],
])('without the safeguard %s, a process killed at %s is %j', async (safeguard, point, verdict, refunds, entries) => {
  const run = await runOf(await crashLab(), { point, without: [safeguard] });
  expect(run).toMatchObject({ state: 'over', verdict, after: { turn: 'done' } });
  expect([run.after?.refunds.length, run.after?.entries.length]).toEqual([refunds, entries]);
});

it.each<Safeguard>(['transaction', 'step_key', 'inbox'])(
  'without the safeguard %s, a process that lives still refunds once: it is for those that die',
  async (safeguard) => {
    const run = await runOf(await crashLab(), { point: 'nowhere', without: [safeguard] });
    expect(run).toMatchObject({ state: 'over', verdict: { kind: 'once' }, before: undefined });
  },
);

it('each run begins with empty books, and says what happened in the order in which it did', async () => {
  const lab = await crashLab();
  const first = await runOf(lab, { point: 'delivery_published', without: ['inbox'] });
  expect(first.after?.entries).toHaveLength(2);
  const second = await runOf(lab, { point: 'refund_committed', without: [] });
  expect(second.verdict).toEqual({ kind: 'once' });
  const [one, other] = second.notes.flatMap(({ text }) => /^process (\d+) started$/.exec(text)?.[1] ?? []);
  const story = second.notes.map(({ text }) => text.replace(/, attempt \d+$/, ''));
  const expected = [
    'the customer asked for the refund',
    `process ${one} started`,
    `process ${one} began the turn`,
    'the worker asked for approval',
    'the refund was approved',
    `process ${one} went on with the turn`,
    'issue_refund was journaled, step 2',
    `process ${one} died behind the commit, before the worker knew of it (SIGKILL)`,
    `process ${other} started`,
    `process ${other} took the turn over`,
    'issue_refund was not run again: the journal had step 2',
    'the turn was completed',
  ];
  expect(story.filter((text) => expected.includes(text))).toEqual(expected);
});

it('stopping the lab ends the run, and the process with it', async () => {
  const lab = await crashLab();
  lab.begin({ point: 'nowhere', without: [] });
  const pid = await eventually('a process has started', () => {
    const started = lab.newest()?.notes.flatMap(({ text }) => /^process (\d+) started$/.exec(text)?.[1] ?? []);
    return started?.[0] === undefined ? undefined : Number(started[0]);
  });
  expect(isAlive(pid)).toBe(true);
  await lab.stop();
  expect(isAlive(pid)).toBe(false);
  expect(lab.newest()).toMatchObject({ state: 'failed', problem: 'the server was stopped', verdict: undefined });
});

it('a process that ends by itself is no finding: the run has failed, with its last words', async () => {
  const program = join(workingFolder(), 'broken.mjs');
  writeFileSync(program, `console.error('out of luck');\nprocess.exitCode = 3;\n`);
  const run = await runOf(await crashLab({ program }), { point: 'nowhere', without: [] });
  expect(run).toMatchObject({ state: 'failed', verdict: undefined });
  expect(run.problem).toMatch(/^process \d+ ended by itself, with 3; it said last:\nout of luck$/);
});
