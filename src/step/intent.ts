/** What a call is to do, as one text and its hash: two calls are of one intent if and only if these are equal (pure). */
import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { assert } from '../base/assert.ts';
import { LedgerlineError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { EffectClass, Intent } from './step.ts';

/** An intent that can be written down. */
export interface SealedIntent {
  readonly tool: string;
  readonly effect: EffectClass;
  /** RFC 8785 JSON of `{v, tool, args}`. */
  readonly request: string;
  /** SHA-256 of it, in hex. */
  readonly hash: string;
}

/** Half a character: a surrogate without its other one. */
const HALF = /\p{Surrogate}/u;
const TOOL = /^[\x21-\x7e]{1,128}$/;

/** Before anything is written: what JSON has no word for is refused, and never dropped or rounded. */
export function sealIntent({ tool, effect, args }: Intent): SealedIntent {
  if (!TOOL.test(tool)) throw malformed('tool', 'the name of a tool is 1 to 128 visible characters without spaces');
  checkValue(args, 'args', 1);
  const request = canonicalize({ v: 1, tool, args });
  assert(request !== undefined, 'an object has a canonical text');
  if (Buffer.byteLength(request) > limits.stepBytes) {
    throw new LedgerlineError('too_large', `a call with its arguments holds at most ${limits.stepBytes} bytes`, {
      limit: 'stepBytes',
      max: limits.stepBytes,
    });
  }
  return { tool, effect, request, hash: hashOf(request) };
}

export const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

function checkValue(value: unknown, where: string, depth: number): void {
  switch (typeof value) {
    case 'boolean':
      return;
    case 'string':
      if (HALF.test(value)) throw malformed(where, 'half a character (a lone surrogate)');
      return;
    case 'number':
      // Past 2^53 two amounts are one number, and would be one intent.
      if (!Number.isFinite(value)) throw malformed(where, `${value} is no JSON`);
      if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
        throw malformed(where, 'an integer past 2^53−1 is not exact: give it as a text');
      }
      return;
    case 'object':
      if (value !== null) checkMembers(value, where, depth);
      return;
    case 'undefined':
      throw malformed(where, 'undefined is no JSON: leave it out, or say null');
    case 'bigint':
    case 'symbol':
    case 'function':
      throw malformed(where, `a ${typeof value} is no JSON`);
  }
}

function checkMembers(value: object, where: string, depth: number): void {
  if (depth > limits.jsonDepth) {
    throw new LedgerlineError('too_deep', `the arguments nest deeper than ${limits.jsonDepth}, or contain themselves`, {
      limit: 'jsonDepth',
      max: limits.jsonDepth,
    });
  }
  if (Array.isArray(value)) {
    // By index, because a hole is skipped by everything else.
    for (let index = 0; index < value.length; index += 1) checkValue(value[index], `${where}[${index}]`, depth + 1);
    return;
  }
  // A Date, a Map and the like print as something else than they are.
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) throw malformed(where, 'only plain objects are JSON');
  for (const [key, member] of Object.entries(value)) {
    if (HALF.test(key)) throw malformed(where, 'a name with half a character (a lone surrogate)');
    checkValue(member, `${where}.${key}`, depth + 1);
  }
}

const malformed = (where: string, why: string): LedgerlineError =>
  new LedgerlineError('malformed', `${where}: ${why}`, { where });
