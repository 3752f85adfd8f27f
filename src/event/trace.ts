/** Which trace a request belongs to: the header `traceparent`, or nothing where it says nothing that can be read (pure). */

declare const traceparentBrand: unique symbol;

/** As its header has it, in version 00: `00-<32 hex: the trace>-<16 hex: the caller's span>-<2 hex: flags>`. */
export type Traceparent = string & { readonly [traceparentBrand]: true };

const grammar = /^([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/**
 * What cannot be read is ignored and never an error; of a version that is newer than this program only what 00 has is
 * taken, and passed on as 00 [spec: W3C Trace Context, 3.2 and 3.4].
 */
export function readTraceparent(header: string | undefined): Traceparent | undefined {
  if (header === undefined) return undefined;
  const match = grammar.exec(header);
  if (match === null) return undefined;
  const [, version, trace, span, flags, rest] = match;
  if (version === '00') return rest === undefined ? (header as Traceparent) : undefined;
  if (version === 'ff') return undefined;
  const isSampled = (Number.parseInt(flags ?? '0', 16) & 1) === 1;
  return `00-${trace}-${span}-${isSampled ? '01' : '00'}` as Traceparent;
}

/** The trace alone, by which log lines of several processes are found together. */
export const traceIdOf = (traceparent: Traceparent): string => traceparent.slice(3, 35);

/** Events of one append: its first one says which trace it belongs to, the others by their place. */
export function traced<Event extends object>(
  events: readonly Event[],
  traceparent: Traceparent | undefined,
): readonly (Event & { readonly traceparent?: Traceparent })[] {
  const [first, ...others] = events;
  return traceparent === undefined || first === undefined ? events : [{ ...first, traceparent }, ...others];
}
