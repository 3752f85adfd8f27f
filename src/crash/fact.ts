/** What a process of the crash lab tells its parent: a line each, among the lines of its log. */

export type Fact =
  | { readonly fact: 'model_asked' }
  /** It is at its point, and has nothing more to say. */
  | { readonly fact: 'dies' }
  /** The relay has the channel's word for it. */
  | { readonly fact: 'published'; readonly number: number }
  /** The consumer is done with it. */
  | { readonly fact: 'acknowledged'; readonly number: number };

/** Out of the process when it returns: the next moment may be its last. */
export type Tell = (fact: Fact) => void;

const MARK = 'crash-lab:';

export const lineOf = (fact: Fact): string => [MARK, fact.fact, ...('number' in fact ? [fact.number] : [])].join(' ');

/** Undefined: a line of the log. */
export function factIn(line: string): Fact | undefined {
  const [mark, fact, number] = line.split(' ');
  if (mark !== MARK) return undefined;
  if (fact === 'model_asked' || fact === 'dies') return { fact };
  if (fact === 'published' || fact === 'acknowledged') return { fact, number: Number(number) };
  return undefined;
}
