/** The words of a step at the edge: its index, its tool's name, the topic of its deliveries. */
import { z } from 'zod';
import { limits } from '../base/limits.ts';

/** Behind it a column of the journal holds no number. */
export const LAST_STEP_INDEX = 2_147_483_647;

export const toolNameShape = z
  .string()
  .regex(/^[A-Za-z0-9_.:/-]{1,128}$/, 'the name of a tool is 1 to 128 of A-Z a-z 0-9 _ . : / -');

export const topicShape = z
  .string()
  .max(limits.topicLength, `a topic has at most ${limits.topicLength} characters`)
  .regex(
    /^[A-Za-z0-9_-]{1,64}(?:\.[A-Za-z0-9_-]{1,64})*$/,
    'a topic is words of A-Z a-z 0-9 _ - with dots between them',
  );
