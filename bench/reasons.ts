/** Why a target is missed, in a person's words; said in docs/PERFORMANCE.md as long as it is missed. */

export interface Reason {
  readonly bench: string;
  /** How the target's sentence begins. */
  readonly target: string;
  readonly why: string;
}

export const reasons: readonly Reason[] = [];
