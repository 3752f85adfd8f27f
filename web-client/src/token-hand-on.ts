/** One answer of the token function for two readers, of which the second begins when the first has been served. */
import type { Token } from './token.ts';

export interface HandedOn {
  readonly first: Token | undefined;
  /** Begins with what the first one got last until then, and asks by itself from then on. */
  readonly second: Token | undefined;
}

export function handOn(token: Token | undefined): HandedOn {
  if (typeof token !== 'function') return { first: token, second: token };
  let got: string | undefined;
  let hasBegun = false;
  return {
    async first() {
      const answer = await token();
      // Kept for later, it would be one that is over.
      if (!hasBegun) got = answer;
      return answer;
    },
    second() {
      const taken = got;
      hasBegun = true;
      got = undefined;
      return taken ?? token();
    },
  };
}
