/** What a run of the crash lab says of itself is true of that run, and short. */
import { expect, it } from 'vitest';
import { deathNote, eventNote, factNote, startNote } from '../../src/crash/notes.ts';
import { crashPoints } from '../../src/lab/crash-lab.ts';

const event = (type: string, data: Record<string, unknown> = {}) => ({
  sequence: 1,
  at: '2026-11-30T04:00:00.000Z',
  type,
  data,
});
const started = event('turn.started', { attempt: 4 });
const none = new Set<number>();

it('a turn is begun, gone on with, or taken over, by whoever had it', () => {
  expect(eventNote(started, { pid: 7, owner: undefined })).toBe('process 7 began the turn, attempt 4');
  expect(eventNote(started, { pid: 7, owner: 7 })).toBe('process 7 went on with the turn, attempt 4');
  expect(eventNote(started, { pid: 8, owner: 7 })).toBe('process 8 took the turn over, attempt 4');
});

it.each([
  [event('step.done', { kind: 'model', step: 0 }), 'the model’s answer was journaled, step 0'],
  [event('step.done', { kind: 'tool', tool: 'issue_refund', step: 2 }), 'issue_refund was journaled, step 2'],
  [
    event('step.done', { kind: 'tool', tool: 'issue_refund', step: 2, fromJournal: true }),
    'issue_refund was not run again: the journal had step 2',
  ],
  [event('turn.in_doubt'), 'the turn ended: in doubt'],
  [event('message.created'), undefined],
  [event('step.started'), undefined],
])('the event %j is noted as %j', (told, text) => {
  expect(eventNote(told, { pid: 7, owner: 7 })).toBe(text);
});

it('what a process does a second time is said to be so', () => {
  const told = { pid: 7, modelCalls: 0, published: none };
  expect(factNote({ fact: 'model_asked' }, told)).toBe('the model was asked');
  expect(factNote({ fact: 'model_asked' }, { ...told, modelCalls: 2 })).toBe('the model was asked, call 3');
  expect(factNote({ fact: 'published', number: 1 }, told)).toBe('process 7 published delivery 1');
  expect(factNote({ fact: 'published', number: 1 }, { ...told, published: new Set([1]) })).toBe(
    'process 7 published delivery 1 again',
  );
});

it('each point has words of its own, and that between two commits only without the shared transaction', () => {
  const notes = crashPoints.map((point) => deathNote(7, { point, without: [] }));
  expect(new Set(notes).size).toBe(crashPoints.length);
  const apart = { point: 'refund_committed', without: ['transaction'] } as const;
  expect(deathNote(7, apart)).toBe(
    'process 7 died behind the commit of the journal, before that of the refund (SIGKILL)',
  );
  expect(notes).not.toContain(deathNote(7, apart));
});

it('a process starts with all its safeguards, or says which it goes without', () => {
  expect(startNote(7, [])).toBe('process 7 started');
  expect(startNote(7, ['step_key', 'inbox'])).toBe('process 7 started, without the step key, without the inbox');
});
