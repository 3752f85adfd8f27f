/** From the bytes of a JSON body to a value of the expected shape, or a `malformed` that says where (pure). */
import type { z } from 'zod';
import { LedgerlineError } from '../base/errors.ts';

/** Fatal: a decoder that repairs would store something else than was sent. A byte order mark before the body is dropped [spec: RFC 8259, 8.1]. */
const decoder = new TextDecoder('utf-8', { fatal: true });

/**
 * Decodes and parses. `scan` sees the text before the parser does, so that it can refuse what nests too deeply;
 * what it cut out is to be believed because the parser took the text.
 */
export const parseJson = <T>(bytes: Uint8Array, scan: (text: string) => T): { text: T; value: unknown } =>
  parseText(decode(bytes), scan);

/** The same of what is text already. */
export function parseText<T>(body: string, scan: (text: string) => T): { text: T; value: unknown } {
  const text = scan(body);
  try {
    return { text, value: JSON.parse(body) as unknown };
  } catch (error) {
    // The parser's message quotes only the caller's own text.
    const reason = error instanceof Error ? error.message : 'syntax';
    throw new LedgerlineError('malformed', `not JSON: ${reason}`, { where: 'body' });
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw new LedgerlineError('malformed', 'the body is not UTF-8', { where: 'body' });
  }
}

/** The value in its shape; otherwise the first place where it differs. */
export function shaped<Shape extends z.ZodType>(shape: Shape, value: unknown): z.infer<Shape> {
  const result = shape.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const where = issue === undefined || issue.path.length === 0 ? 'body' : pathText(issue.path);
  throw new LedgerlineError('malformed', `${where}: ${issue?.message ?? 'not the expected shape'}`, { where });
}

/** `events[3].type`. */
function pathText(path: readonly PropertyKey[]): string {
  return path
    .map((part, depth) => (typeof part === 'number' ? `[${part}]` : `${depth === 0 ? '' : '.'}${String(part)}`))
    .join('');
}
