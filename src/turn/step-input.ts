/** What came from outside while a turn was under way takes the next free index of its journal, so that a resume meets it at the same place. */
import type { Statements } from '../db/postgres.ts';
import { toOneLine } from '../event/slice.ts';
import { hashOf } from '../step/intent.ts';
import { insertInput } from '../step/step-row.ts';
import type { Decision } from './turns.ts';

/** A decision; or the sequences of messages that joined. */
type Input = { readonly decision: Readonly<Record<keyof Decision, unknown>> } | { readonly steered: readonly number[] };

export async function journalInput(
  tx: Statements,
  turn: { readonly session: string; readonly turn: string; readonly fence: number },
  input: Input,
): Promise<void> {
  const result = toOneLine(JSON.stringify(input));
  await insertInput(tx, turn, { hash: hashOf(result), result });
}
