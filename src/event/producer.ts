/** Who appended: an identity, and its own contiguous counter, which makes a repeated append visible [I8]. */
import { z } from 'zod';
import { limits } from '../base/limits.ts';

export const producerIdShape = z
  .string()
  .regex(
    new RegExp(`^[A-Za-z0-9._:-]{1,${limits.producerIdLength}}$`),
    `a producer id is 1 to ${limits.producerIdLength} of A-Z a-z 0-9 . _ : -`,
  );

export const producerShape = z.strictObject({
  id: producerIdShape,
  /** The counter of the first event; the rest count on. From 1. */
  sequence: z.int().min(1),
});

export type Producer = z.infer<typeof producerShape>;
