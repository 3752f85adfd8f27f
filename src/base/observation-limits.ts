/** Every bound of what is measured, unit in the name; the rest is in `limits`. */
import { assert } from './assert.ts';

export const observationLimits = {
  /** How often a gateway compares its clock with Postgres's, and how many answers it takes for that. */
  clockLookMs: 60_000,
  clockLooks: 3,
} as const;

assert(
  observationLimits.clockLooks > 1,
  'the first answer, which may have waited for a connection, is not the only one',
);
