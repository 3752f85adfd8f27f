/** What is written of measurements: a part for each in its document, every target with what was last seen, and a quick run in its time. */
import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { QUICK_RUN_SECONDS, about, benches, deadlineMs, secondsOf } from '../../bench/benches.ts';
import { partOf, withPart } from '../../bench/marked.ts';
import { readResults } from '../../bench/results-files.ts';
import { reasons } from '../../bench/reasons.ts';
import { placesOf, resultsFrom, sectionOf, targetsOf } from '../../bench/results.ts';
import type { Outcome } from '../../bench/results.ts';
import { readProcessorTime, stolenBetween } from '../../bench/stolen.ts';

const names = Object.keys(benches);
const textOf = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

const outcome = (more: Partial<Outcome>): Outcome => ({
  when: '2026-12-01',
  pace: 'quick',
  seconds: 12.4,
  load: [0.21, 1.94],
  machine: '2 × CPU',
  versions: 'Postgres 18.4',
  ...more,
});
const report = {
  name: 'One',
  method: 'How.',
  rows: [{ side: 'ours', µs: 3 }],
  targets: [
    { what: 'time: at most 2', seen: 3, atMost: 2 },
    { what: 'space: at least 1', seen: 4, atLeast: 1 },
  ],
  leftOut: ['nchan: no nginx'],
};

describe('a quick run', () => {
  test('has a quarter of an hour for all measurements', () => {
    expect(secondsOf(names, 'quick')).toBeLessThanOrEqual(QUICK_RUN_SECONDS);
  });

  test('gives a measurement up when it takes several times as long', () => {
    for (const name of names) expect(deadlineMs(name, 'quick')).toBeGreaterThan(4_000 * secondsOf([name], 'quick'));
  });

  test('says how long it is about to be', () => {
    expect([about(40.4), about(90), about(700)]).toEqual(['40 s', '2 min', '12 min']);
  });
});

test('a measurement has a file of its name, and each file is one', () => {
  const files = readdirSync(new URL('../../bench/cases', import.meta.url));
  expect(new Set(files)).toEqual(new Set(names.map((name) => `${name}.ts`)));
});

describe('a part of a document', () => {
  const document = 'Before.\n\n<!-- one -->\nold $1\n<!-- /one -->\n\nAfter.\n';

  test('is written in place of what was there', () => {
    expect(withPart(document, 'one', 'new $& text')).toBe(
      'Before.\n\n<!-- one -->\nnew $& text\n<!-- /one -->\n\nAfter.\n',
    );
  });

  test('comes to the end when it was not there', () => {
    const after = withPart(document, 'two', 'text');
    expect(after.startsWith(document)).toBe(true);
    expect(partOf(after, 'two')).toBe('text');
    expect(partOf(document, 'two')).toBeUndefined();
  });
});

describe('processors that others on the host took', () => {
  const stat = (steal: number, idle: number): string =>
    `cpu  10 0 5 ${idle} 1 0 2 ${steal} 3 0\ncpu0 1 1 1 1 1 1 1 1 1 1\nintr 5\n`;

  test('are a share of all their time between two looks', () => {
    const [before, after] = [readProcessorTime(stat(2, 100)), readProcessorTime(stat(7, 195))];
    expect(before).toEqual({ total: 120, stolen: 2 });
    expect(stolenBetween(before, after)).toBe(0.05);
  });

  test('are not told of without a look that tells', () => {
    expect(readProcessorTime('intr 5\n')).toBeUndefined();
    expect(readProcessorTime('cpu  10 0 5\n')).toBeUndefined();
    expect(stolenBetween(undefined, { total: 1, stolen: 0 })).toBeUndefined();
    expect(stolenBetween({ total: 1, stolen: 0 }, { total: 1, stolen: 0 })).toBeUndefined();
  });

  test('are named beside the load', () => {
    expect(sectionOf('one', outcome({ report, stolen: 0.053 }))).toContain(
      'at a load of 0.2 before and 1.9 at its end, 5 % of its processors taken by others on its host, 2 × CPU',
    );
    expect(sectionOf('one', outcome({ report, stolen: 0.004 }))).not.toContain('taken by others');
  });
});

describe('a section', () => {
  test('has the figures, the verdicts, what was left out, and where it was seen', () => {
    expect(sectionOf('one', outcome({ report }))).toBe(
      [
        '## One',
        'How.',
        '| side | µs |\n| --- | --- |\n| ours | 3 |',
        '| target | seen |  |\n| --- | --- | --- |\n| time: at most 2 | 3 | missed |\n| space: at least 1 | 4 | met |',
        'Not measured: nchan: no nginx.',
        '2026-12-01, a quick run of 12 s at a load of 0.2 before and 1.9 at its end, 2 × CPU',
      ].join('\n\n'),
    );
  });

  test('of a measurement that failed says why', () => {
    expect(sectionOf('one', outcome({ failure: 'Error: no\n  at x' }))).toContain('Failed: Error: no\n\n2026-12-01');
  });
});

describe('the targets', () => {
  const results = { one: outcome({ report }), two: outcome({ failure: 'Error: no\n at x' }) };

  test('stand with what was last seen, and with the reason of one that is missed', () => {
    const why = [{ bench: 'one', target: 'time:', why: 'it is late' }];
    expect(targetsOf(['one', 'two', 'three'], results, why)).toBe(
      [
        '1 of 2 targets met.',
        '',
        '| measurement | target | seen |  | run |',
        '| --- | --- | --- | --- | --- |',
        '| `one` | time: at most 2 | 3 | **missed**: it is late | quick 2026-12-01 |',
        '| `one` | space: at least 1 | 4 | met | quick 2026-12-01 |',
        '| `one` |  |  | not measured: nchan: no nginx | quick 2026-12-01 |',
        '| `two` |  |  | failed: Error: no | quick 2026-12-01 |',
        '| `three` |  |  | not measured |  |',
      ].join('\n'),
    );
  });

  test('that are missed without a reason say so', () => {
    expect(targetsOf(['one'], results, [])).toContain('**missed**: not explained yet');
  });

  test('that had no figure are missed after they were kept, too', () => {
    const none = { ...report, targets: [{ what: 'time: at most 2', seen: Number.NaN, atMost: 2 }] };
    const kept = resultsFrom(JSON.stringify({ one: outcome({ report: none }) }));
    expect(targetsOf(['one'], kept, [])).toContain('| no figure | **missed**');
  });
});

test('measurements on the same machine and versions share a row of places', () => {
  const places = placesOf({ one: outcome({}), two: outcome({}), three: outcome({ machine: 'another' }) });
  expect(places.split('\n').slice(2)).toEqual([
    '| 2 × CPU | Postgres 18.4 | one, two |',
    '| another | Postgres 18.4 | three |',
  ]);
});

describe('the documents', () => {
  test('tell what the kept results say', async () => {
    const results = await readResults();
    const how = 'npm run bench -- --tables writes them anew';
    expect(partOf(textOf('docs/PERFORMANCE.md'), 'targets'), how).toBe(targetsOf(names, results, reasons));
    for (const [name, each] of Object.entries(results)) {
      expect(partOf(textOf('bench/RESULTS.md'), name), how).toBe(sectionOf(name, each));
    }
  });

  test('list every measurement, and no other', () => {
    const [, asked = ''] = textOf('docs/PERFORMANCE.md').split('## What is measured');
    const listed = [...asked.split('## How')[0]!.matchAll(/^\| `([\w-]+)` \|/gm)].map(([, name]) => name);
    expect(new Set(listed)).toEqual(new Set(names));
  });
});
