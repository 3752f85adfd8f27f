/** The ids of the work half at the edge: a turn's, an attempt's number, a question's, a message's key. */
import { z } from 'zod';
import { limits } from '../base/limits.ts';

const idShape = (what: string, length: number) =>
  z.string().regex(new RegExp(`^[A-Za-z0-9._:-]{1,${length}}$`), `${what} is 1 to ${length} of A-Z a-z 0-9 . _ : -`);

/** It stands in envelopes as it is: its grammar excludes whatever JSON would escape [I2]. */
export const turnIdShape = idShape('a turn id', limits.approvalIdLength);

export const approvalIdShape = idShape('the id of an approval', limits.approvalIdLength);

export const requestKeyShape = idShape('a key', limits.requestKeyLength);

export const attemptShape = z.int().min(1);

/** Whose attempt an append is. */
export const fenceShape = z.strictObject({ turn: turnIdShape, attempt: attemptShape });

export type Fence = z.infer<typeof fenceShape>;
