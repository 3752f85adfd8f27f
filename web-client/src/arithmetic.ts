/** Where a sequence stands to a cursor: all that it takes to know that nothing is missing and nothing comes twice (pure). */

export type Place = 'next' | 'repeat' | 'gap';

export function placeOf(cursor: number, sequence: number): Place {
  if (sequence <= cursor) return 'repeat';
  return sequence === cursor + 1 ? 'next' : 'gap';
}
