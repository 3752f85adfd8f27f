/** Holds the reader's token: asks the function for it once, and again only when it was refused. */
import { FollowError } from './follow-error.ts';
import { settle } from './settle.ts';

/** The token, or a function that is asked for it, and asked again when the server no longer takes it. */
export type Token = string | (() => string | Promise<string>);

/** An answer of the function, or what will be one. */
export type HeldToken = Promise<string | undefined>;

export interface TokenHolder {
  readonly current: HeldToken;
  /** Rejects with a `FollowError` of code `token` or `aborted`. */
  read(held: HeldToken, signal: AbortSignal | undefined): Promise<string | undefined>;
  /** The server did not take it. Whether another one can be had. */
  refuse(held: HeldToken | undefined): boolean;
}

export function createTokenHolder(token: Token | undefined): TokenHolder {
  let kept: HeldToken | undefined;
  const ask = async (): HeldToken => (typeof token === 'function' ? token() : token);
  /** Somebody else's request may have been refused first, and brought a new one. */
  const drop = (held: HeldToken | undefined): void => {
    if (kept === held) kept = undefined;
  };
  return {
    get current() {
      return (kept ??= ask());
    },
    async read(held, signal) {
      const answer = await settle(held, signal);
      if (answer.kind === 'value') return answer.value;
      // One that never comes is not waited for again either.
      drop(held);
      if (answer.kind === 'aborted') throw new FollowError('aborted', 'aborted');
      throw new FollowError('token', 'the token function failed', { cause: answer.cause });
    },
    refuse(held) {
      drop(held);
      return typeof token === 'function';
    },
  };
}
