/** The log of a gateway as an operator reads it, and the lines that the documents promise. */
import { readFileSync } from 'node:fs';
import { recordingLog } from './stub-gateway.ts';
import { eventually } from './waits.ts';

export type LogLine = Readonly<Record<string, unknown>>;

const parsed = (text: string): LogLine[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as LogLine);

/** A log that keeps everything, down to `debug`. */
export function readableLog() {
  const { log, lines } = recordingLog();
  const all = (): LogLine[] => parsed(lines());
  return {
    log,
    all,
    /** Waits for the first line with these members. */
    line: (wanted: LogLine): Promise<LogLine> =>
      eventually(`the log has ${JSON.stringify(wanted)}`, () =>
        all().find((line) => Object.entries(wanted).every(([name, value]) => line[name] === value)),
      ),
  };
}

/** The lines of JSON in the first block of code behind a heading of `docs/OPERATIONS.md`. */
export function documentedLines(heading: string): LogLine[] {
  const text = readFileSync(new URL('../../docs/OPERATIONS.md', import.meta.url), 'utf8');
  const block = text.split(`\n${heading}\n`)[1]?.split('```')[1];
  if (block === undefined) throw new Error(`docs/OPERATIONS.md has no block of code behind ${heading}`);
  return parsed(block.replace(/^.*\n/, ''));
}

/** The names of a line's members, for comparing what is told rather than its values. */
export const membersOf = (line: LogLine): string[] => Object.keys(line).toSorted();
