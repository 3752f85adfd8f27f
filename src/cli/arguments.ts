/** Arguments that are refused on the spot when they can be no such thing. */
import { Argument, InvalidArgumentError } from 'commander';
import type { z } from 'zod';
import { sessionIdShape } from '../event/event.ts';

/** The session that a command is about. */
export const sessionArgument = (): Argument => new Argument('<session>', 'its id').argParser(checked(sessionIdShape));

/** A parser for commander out of a shape whose messages are written for people. */
export function checked(shape: z.ZodType<string>): (text: string) => string {
  return (text) => {
    const { success, error } = shape.safeParse(text);
    if (!success) throw new InvalidArgumentError(error.issues.map((issue) => issue.message).join('; '));
    return text;
  };
}
