/** What the crash lab finds in the books of a run. */
import { expect, it } from 'vitest';
import { verdictOn } from '../../src/crash/verdict.ts';
import type { CrashVerdict } from '../../src/lab/crash-lab.ts';

const at = '2026-11-30T04:00:00.000Z';
const refund = (key: string) => ({ key, order: '7731', cents: 40, at });
const entry = (of: string) => ({ refund: of, order: '7731', cents: 40, at });

it.each<[string, string[], string[], CrashVerdict]>([
  ['one refund and one entry of it is once', ['a'], ['a'], { kind: 'once' }],
  ['an entry without its refund is a lost refund', [], ['a'], { kind: 'lost', what: 'refund' }],
  ['a refund without its entry is a lost entry', ['a'], [], { kind: 'lost', what: 'entry' }],
  ['an entry of another refund is a lost entry', ['b'], ['a'], { kind: 'lost', what: 'entry' }],
  ['two refunds are a doubled refund, with two entries', ['a', 'b'], ['a', 'b'], { kind: 'doubled', what: 'refund' }],
  ['two refunds are a doubled refund, with no entry', ['a', 'b'], [], { kind: 'doubled', what: 'refund' }],
  ['two entries of one refund are a doubled entry', ['a'], ['a', 'a'], { kind: 'doubled', what: 'entry' }],
  ['nothing at all is a lost refund', [], [], { kind: 'lost', what: 'refund' }],
])('%s', (_, refunds, entries, verdict) => {
  expect(verdictOn({ refunds: refunds.map(refund), entries: entries.map(entry) })).toEqual(verdict);
});
