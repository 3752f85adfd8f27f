/** What `docs/OPERATIONS.md` says of settings, limits, metrics and error codes, read so that it can be held to the code. */

/** The rows of all tables behind a heading of the second level, each as its cells. */
export function rowsOf(document: string, heading: string): string[][] {
  const section = document.split(/^## /m).find((part) => part.startsWith(`${heading}\n`));
  if (section === undefined) throw new Error(`there is no section ${heading}`);
  return section
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) =>
      line
        .slice(2, -1)
        .split(/(?<!\\)\|/)
        .map((cell) => cell.trim()),
    );
}

/** What stands in backticks. */
export const quoted = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? '');

/** What is on one side alone. */
export function difference(documented: Iterable<string>, real: Iterable<string>): string[] {
  const [said, is] = [new Set(documented), new Set(real)];
  return [
    ...[...is].filter((one) => !said.has(one)).map((one) => `${one} is not in docs/OPERATIONS.md`),
    ...[...said].filter((one) => !is.has(one)).map((one) => `${one} is in docs/OPERATIONS.md alone`),
  ].toSorted();
}

/** Name and default of each variable of the settings that has one; several in a row are in the same order. */
export function documentedDefaults(document: string): Map<string, string> {
  const rows = rowsOf(document, 'Settings').map(([names = '', defaults = '']) => [quoted(names), defaults] as const);
  return new Map(
    rows.flatMap(([names, defaults]) => {
      const values = defaults.startsWith('`') ? quoted(defaults) : [defaults];
      return names.map((name, index) => [name, values[index] ?? values[0] ?? ''] as const);
    }),
  );
}

/** `module.name value`, of each limit. */
export function documentedLimits(document: string): string[] {
  return rowsOf(document, 'Limits').flatMap(([place = '', values = '']) => {
    const module = quoted(place)[0];
    if (module?.endsWith('limits') !== true) return [];
    return [...values.matchAll(/`(\w+)` ([^·]+)/g)].map(([, name, value]) => `${module}.${name} ${value?.trim()}`);
  });
}

const units: readonly [RegExp, readonly [number, string][]][] = [
  [/Bytes$|^tokenLength$/, [[2 ** 20, 'MiB'], [2 ** 10, 'KiB'], [1, 'bytes']]],
  [/Ms$/, [[86_400_000, 'd'], [3_600_000, 'h'], [60_000, 'min'], [1_000, 's'], [1, 'ms']]],
  [/Seconds(?:Most)?$/, [[86_400, 'd'], [3_600, 'h'], [60, 'min'], [1, 's']]],
  [/Days$/, [[1, 'd']]],
]; // prettier-ignore

/** A limit as people write it: in the largest unit that it is a whole number of. */
export function shown(name: string, value: number): string {
  const [, scale] = units.find(([pattern]) => pattern.test(name)) ?? [];
  const [size = 1, unit = ''] = scale?.find(([of]) => value !== 0 && value % of === 0) ?? [];
  return `${(value / size).toLocaleString('en-US')} ${unit}`.trim();
}

/** `name type label,label` of each metric. */
export function documentedMetrics(document: string): string[] {
  return rowsOf(document, 'Metrics').flatMap(([names = '', type = '']) =>
    quoted(names)
      .filter((name) => !name.endsWith('*'))
      .map((text) => {
        const [, name, labels = ''] = /^([a-z_]+)(?:\{([a-z,]+)\})?$/.exec(text) ?? [];
        return metricText(name ?? text, type, labels.split(','));
      }),
  );
}

export const metricText = (name: string, type: string, labels: readonly string[]): string =>
  `${name} ${type} ${labels.toSorted().join(',')}`.trim();
