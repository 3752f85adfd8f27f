/** The class of a tool's effect, with what it promises. */
import type { ReactElement } from 'react';
import { promiseOf } from './effect-words.ts';

export const EffectBadge = ({ effect }: { readonly effect: string }): ReactElement => (
  <span className={`effect-badge is-${promiseOf(effect) === undefined ? 'unknown' : effect}`} title={promiseOf(effect)}>
    {effect}
  </span>
);
