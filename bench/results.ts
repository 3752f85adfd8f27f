/** The newest outcome of every measurement, kept in bench/results.json, and what is written of them for people. */
import { isMet, rounded } from './report.ts';
import type { Report, Row, Target } from './report.ts';
import type { Reason } from './reasons.ts';

export interface Outcome {
  /** A date. */
  readonly when: string;
  readonly pace: 'quick' | 'full';
  readonly seconds: number;
  /** Of the machine in the minute before, and in the last one. */
  readonly load: readonly [number, number];
  /** The share of its processors that its host gave to others, from 0 to 1; left out where that is not told. */
  readonly stolen?: number;
  readonly machine: string;
  readonly versions: string;
  /** One of the two is there. */
  readonly report?: Report;
  readonly failure?: string;
}

export type Results = Readonly<Record<string, Outcome>>;

function table(rows: readonly Row[]): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const line = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`;
  return [
    line(columns),
    line(columns.map(() => '---')),
    ...rows.map((row) => line(columns.map((column) => row[column] ?? ''))),
  ].join('\n');
}

const figure = (seen: number): string | number => (Number.isFinite(seen) ? rounded(seen) : 'no figure');

const verdicts = (targets: readonly Target[]): string =>
  table(
    targets.map((target) => ({
      target: target.what,
      seen: figure(target.seen),
      '': isMet(target) ? 'met' : 'missed',
    })),
  );

/** What is told of a measurement, on the terminal and in the file. */
export function reportText({ name, method, rows, targets = [], leftOut = [] }: Report): string {
  const left = leftOut.map((sentence) => `Not measured: ${sentence}.`);
  const parts = [`## ${name}`, method, table(rows), ...(targets.length > 0 ? [verdicts(targets)] : []), ...left];
  return parts.join('\n\n');
}

const firstLine = (text: string): string => text.split('\n', 1)[0] ?? '';

/** Its section of bench/RESULTS.md. */
export function sectionOf(name: string, outcome: Outcome): string {
  const { when, pace, seconds, load, stolen = 0, machine, report, failure = '' } = outcome;
  const text = report === undefined ? `## ${name}\n\nFailed: ${firstLine(failure)}` : reportText(report);
  const [before, after] = load.map((each) => each.toFixed(1));
  const gone = stolen < 0.005 ? '' : `, ${Math.round(stolen * 100)} % of its processors taken by others on its host`;
  return `${text}\n\n${when}, a ${pace} run of ${Math.round(seconds)} s at a load of ${before} before and ${after} at its end${gone}, ${machine}`;
}

/** On what the figures were seen: a row for each machine and set of versions. */
export function placesOf(results: Results): string {
  const places = new Map<string, Row & { measurements: string }>();
  for (const [name, { machine, versions }] of Object.entries(results)) {
    const there = places.get(machine + versions)?.measurements;
    places.set(machine + versions, {
      machine,
      versions,
      measurements: there === undefined ? name : `${there}, ${name}`,
    });
  }
  return places.size === 0 ? 'Nothing yet.' : table([...places.values()]);
}

/** Every target with what was last seen of it; a missed one has its reason, and what was not measured says so. */
export function targetsOf(names: readonly string[], results: Results, reasons: readonly Reason[]): string {
  const rows = names.flatMap((bench): Row[] => {
    const { report, failure, pace = '', when = '' } = results[bench] ?? {};
    const row = (target: string, seen: string | number, verdict: string): Row => ({
      measurement: `\`${bench}\``,
      target,
      seen,
      '': verdict,
      run: `${pace} ${when}`.trim(),
    });
    if (report === undefined)
      return [row('', '', failure === undefined ? 'not measured' : `failed: ${firstLine(failure)}`)];
    const whyOf = ({ what }: Target): string =>
      reasons.find((reason) => reason.bench === bench && what.startsWith(reason.target))?.why ?? 'not explained yet';
    return [
      ...(report.targets ?? []).map((target) =>
        row(target.what, figure(target.seen), isMet(target) ? 'met' : `**missed**: ${whyOf(target)}`),
      ),
      ...(report.leftOut ?? []).map((sentence) => row('', '', `not measured: ${sentence}`)),
    ];
  });
  const targets = names.flatMap((name) => results[name]?.report?.targets ?? []);
  const met = targets.filter(isMet).length;
  return `${met} of ${targets.length} targets met.\n\n${table(rows)}`;
}

/** A figure that there was none of is no figure after it was kept, either. */
export const resultsFrom = (text: string): Results =>
  JSON.parse(text, (_, value: unknown) => (value === null ? Number.NaN : value)) as Results;
