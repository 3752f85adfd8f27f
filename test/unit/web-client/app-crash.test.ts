/** The crash lab's page: what it takes for a run, what it marks in the books, and what it says a run has shown. */
import { describe, expect, test } from 'vitest';
import { crashPoints, safeguards as safeguardsOfServer } from '../../../src/lab/crash-lab.ts';
import { compareBooks } from '../../../web-client/app/crash/compare-books.ts';
import { isUnderWay, points, readRun, safeguards } from '../../../web-client/app/crash/crash-run.ts';
import type { Books, CrashRun } from '../../../web-client/app/crash/crash-run.ts';
import { nameSafeguards, toPlanWords, toPointWords } from '../../../web-client/app/crash/plan-words.ts';
import { toAfterWords, toModelCallWords, toNoteTime, toSpokenRun } from '../../../web-client/app/crash/run-words.ts';
import { toVerdictWords } from '../../../web-client/app/crash/verdict-words.ts';
import {
  STEP_KEY,
  books,
  delivery,
  entry,
  journal,
  moment,
  refund,
  scripts,
} from '../../support/scripted-crash-lab.ts';

/** As it comes over the wire: what is undefined is not there. */
const received = (run: unknown): CrashRun => {
  const read = readRun(JSON.parse(JSON.stringify({ run })));
  if (read === null || read === undefined) throw new Error('it is not taken for a run');
  return read;
};
const once = received(scripts.once);
const after = once.after as Books;

describe('a run', () => {
  test('has the points and the safeguards of the server', () => {
    expect(new Set(points)).toEqual(new Set(crashPoints));
    expect(safeguards).toEqual(safeguardsOfServer);
  });

  test('is read as it comes, and null is none', () => {
    expect(received(scripts.resuming)).toEqual(JSON.parse(JSON.stringify(scripts.resuming)));
    expect(readRun({ run: null })).toBeNull();
  });

  test.each([
    ['no object', 'a login page'],
    ['no run', {}],
    ['a run of nothing', { run: {} }],
    ['an unknown point', { run: { ...scripts.once, point: 'somewhere' } }],
    ['an unknown safeguard', { run: { ...scripts.once, without: ['luck'] } }],
    ['books without a journal', { run: { ...scripts.once, after: { ...scripts.once.after, journal: undefined } } }],
  ])('is not %s', (_, answer) => expect(readRun(answer)).toBeUndefined());

  test('is under way until it is over or has failed', () => {
    expect(
      [undefined, scripts.resuming, scripts.once, scripts.failed].map((run) => isUnderWay(run && received(run))),
    ).toEqual([false, true, false, false]);
  });
});

describe('the books', () => {
  const before = books({ refunds: [refund()], journal: journal(1), outbox: [delivery('waiting')] });
  const marks = ({ refunds, journal: steps, outbox, entries }: ReturnType<typeof compareBooks>): unknown => ({
    refunds: refunds.map(({ mark }) => mark),
    journal: steps.map(({ mark }) => mark),
    outbox: outbox.map(({ mark }) => mark),
    entries: entries.map(({ mark }) => mark),
  });
  const plain = (value: unknown): Books => JSON.parse(JSON.stringify(value)) as Books;

  test('mark what is new, and what is another than it was', () => {
    expect(marks(compareBooks(plain(before), plain(after)))).toEqual({
      refunds: [undefined],
      journal: [undefined, undefined, undefined, undefined, 'new'],
      outbox: ['changed'],
      entries: ['new'],
    });
  });

  test('mark nothing as new where there is nothing to compare with', () => {
    expect(marks(compareBooks(undefined, plain(after)))).toEqual({
      refunds: [undefined],
      journal: Array.from({ length: 5 }, () => undefined),
      outbox: [undefined],
      entries: [undefined],
    });
  });

  test('mark the second refund of an order, and the second entry of it', () => {
    const doubled = books({ refunds: [refund(), refund('other', 2_000)], entries: [entry(), entry(STEP_KEY, 4_000)] });
    expect(marks(compareBooks(plain(before), plain(doubled)))).toMatchObject({
      refunds: [undefined, 'twice'],
      entries: ['new', 'twice'],
    });
  });

  test('mark the entry of a refund that there is not', () => {
    expect(marks(compareBooks(undefined, plain(books({ entries: [entry()] }))))).toMatchObject({ entries: ['stray'] });
  });
});

describe('the plan', () => {
  test('says of each point what is true at it, and another thing where there are two transactions', () => {
    for (const point of points) expect(toPointWords(point, []).truth).toMatch(/^[A-Z].*\.$/);
    const changed = points.filter(
      (point) => toPointWords(point, []).truth !== toPointWords(point, ['transaction']).truth,
    );
    expect(changed).toEqual(['refund_written', 'refund_committed']);
  });

  test('is told in a line', () => {
    expect(toPlanWords({ point: 'entry_committed', without: [] })).toBe(
      'died when the entry was posted, with every safeguard',
    );
    expect(toPlanWords({ point: 'nowhere', without: ['inbox'] })).toBe('did not die, without the inbox');
    expect([...safeguards.keys()].map((count) => nameSafeguards(safeguards.slice(0, count + 1)))).toEqual([
      'the one transaction',
      'the one transaction and the step key',
      'the one transaction, the step key and the inbox',
    ]);
  });
});

describe('the verdict', () => {
  const of = (run: Partial<CrashRun>): unknown => toVerdictWords({ ...once, ...run });

  test('is nothing before the end', () => expect(toVerdictWords(received(scripts.resuming))).toBeUndefined());

  test('of a run that held says what answered, and what to try next', () => {
    expect(of({})).toEqual({
      tone: 'held',
      finding: 'One refund, one entry.',
      story: 'The process died after the commit; the journal answered, and nothing ran twice.',
      lesson: 'Take a safeguard away, and run it again, to see what it is for.',
    });
  });

  test('of a run that held without a safeguard does not praise it', () => {
    expect(of({ without: ['inbox'] })).toMatchObject({
      lesson: 'No refund and no entry hung on the inbox at this point.',
    });
    expect(of({ point: 'model_journaled', without: ['step_key'] })).toMatchObject({
      story: expect.stringContaining('the model was asked anew') as string,
    });
  });

  test('of two refunds is for the step key', () => {
    expect(toVerdictWords(received(scripts.twoRefunds))).toMatchObject({
      tone: 'broken',
      finding: 'Two refunds of order 7731.',
      lesson: expect.stringMatching(/^The step key would have held/) as string,
    });
  });

  test('of two entries of one refund is for the inbox', () => {
    const entries = [entry(), entry(STEP_KEY, 4_000)];
    expect(
      of({ without: ['inbox'], after: { ...after, entries }, verdict: { kind: 'doubled', what: 'entry' } }),
    ).toMatchObject({
      finding: 'Two entries of one refund.',
      lesson: expect.stringMatching(/^The inbox would have held/) as string,
    });
  });

  test('of two entries of two refunds, of which one was never committed, is for both', () => {
    const entries = [entry('never'), entry(STEP_KEY, 4_000)];
    expect(of({ after: { ...after, entries }, verdict: { kind: 'doubled', what: 'entry' } })).toMatchObject({
      finding: 'Two entries, and one refund.',
      lesson: expect.stringMatching(/^It takes both/) as string,
    });
  });

  test.each([
    ['refund', { refunds: [] }, 'No refund of order 7731.'],
    ['entry', { entries: [] }, 'A refund of order 7731, and no entry of it.'],
  ] as const)('of a lost %s is for one transaction', (what, lost, finding) => {
    expect(
      of({ without: ['transaction'], after: { ...after, ...lost }, verdict: { kind: 'lost', what } }),
    ).toMatchObject({
      finding,
      lesson: expect.stringMatching(/^One transaction would have held/) as string,
    });
  });
});

describe('a run in words', () => {
  test('is spoken of once a state, and at its end with the verdict', () => {
    const running = received(scripts.resuming);
    const noted = { ...running, notes: [...running.notes, { at: moment(5_000), text: 'more' }] };
    expect(toSpokenRun(noted)).toBe(toSpokenRun(running));
    expect(toSpokenRun(once)).toMatch(/^One refund, one entry\. .*\. .*\.$/);
    expect(toSpokenRun(undefined)).toBe('');
  });

  test('counts what the model was asked, then and now', () => {
    expect(toModelCallWords(once)).toBe('1 at the crash, 2 after the resume');
    expect(toModelCallWords(received(scripts.resuming))).toBe('1 at the crash, 1 so far');
    expect(toAfterWords({ ...once, point: 'nowhere' })).toBe('At the end');
  });

  test('gives each note its time since the first', () => {
    const first = { at: moment(0), text: 'first' };
    expect(toNoteTime({ at: moment(1_239), text: 'later' }, first)).toBe('1.24 s');
    expect(toNoteTime({ at: 'soon', text: 'later' }, first)).toBe('soon');
  });
});
