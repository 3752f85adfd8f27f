/** A value in one line, short enough to glance at (pure). */

const MOST_CHARACTERS = 240;

export function toJsonLine(value: unknown): string {
  const text = value === undefined ? '' : (JSON.stringify(value) ?? '');
  return text.length <= MOST_CHARACTERS ? text : `${text.slice(0, MOST_CHARACTERS)}…`;
}
