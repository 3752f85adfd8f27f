/** How a route may refuse: by what it says itself, and by its scope, its parameters and its body (pure). */
import type { ErrorCode } from '../../base/errors.ts';
import { problemKinds } from '../problem.ts';
import type { Declaration, ListenerName } from './declaration.ts';

/** A status, and the codes that have it. */
export type Refusals = ReadonlyMap<number, readonly ErrorCode[]>;

export function refusalsOf(declaration: Declaration, listener: ListenerName): Refusals {
  const codes = new Set<ErrorCode>([...(declaration.operation.refusals ?? []), ...inherited(declaration, listener)]);
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codes) {
    const { status } = problemKinds[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return new Map([...byStatus].toSorted(([one], [other]) => one - other));
}

function* inherited({ method, path, operation }: Declaration, listener: ListenerName): Iterable<ErrorCode> {
  const { scope, query, body, isBlind } = operation;
  if (path.includes(':') || query !== undefined || body !== undefined) yield 'malformed';
  if (body !== undefined) yield* ['too_large', 'too_deep', 'unsupported_media_type'] as const;
  if (scope === undefined) return;
  yield* ['unauthorized', 'unavailable', 'internal'] as const;
  // The key reaches every session.
  if (path.includes(':session') && !(isBlind === true && listener === 'internal')) yield 'session_unknown';
  // The key has every scope, and nobody counts how often it writes.
  if (listener === 'internal') return;
  yield 'forbidden';
  if (method !== 'GET') yield 'rate_limited';
}
