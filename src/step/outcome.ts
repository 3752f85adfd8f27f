/** The texts in which outcomes are kept: whatever a tool or a model gave, Postgres takes them, and they are bounded (pure). */
import { LedgerlineError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { checkDepth, toOneLine } from '../event/slice.ts';
import type { StepError } from './step.ts';

/** A tool's result on one line; nothing is `null`. Half a character and NUL are escapes in it, which a json column takes. */
export function resultText(result: unknown): string {
  const text = printed(result, 'result');
  checkDepth(text);
  return bounded(text, 'stepBytes', 'a result');
}

/** A model's answer and the calls that it asks for: `{"result":…,"calls":[{"call","tool","args"}]}`. */
export function answerText(
  result: string,
  calls: readonly { readonly call: string; readonly tool: string; readonly args: unknown }[],
): string {
  checkDepth(result);
  const asked = printed(
    calls.map(({ call, tool, args }) => ({ call, tool, args })),
    'calls',
  );
  checkDepth(asked);
  return bounded(`{"result":${toOneLine(parseable(result))},"calls":${asked}}`, 'modelAnswerBytes', "a model's answer");
}

/** What a model was asked, for people to read: left out when it is large, because every answer of a turn has one. */
export function requestText(request: unknown): { readonly full: string; readonly kept: string | undefined } {
  const full = printed(request, 'request');
  checkDepth(full);
  return { full, kept: Buffer.byteLength(full) > limits.stepBytes ? undefined : full };
}

const CODE_LENGTH = 64;
/** Once it is cleaned, no part of a message takes more than three bytes; the code and the braces need room, too. */
const MESSAGE_LENGTH = Math.floor((limits.turnErrorBytes - 2 * CODE_LENGTH) / 3);

/** No error is too large, or too strange, to be written down: failing cannot fail [hatchet#4611]. */
export const errorText = ({ code, message }: StepError): string =>
  JSON.stringify({
    code: code.replaceAll(/[^A-Za-z0-9._-]/g, '_').slice(0, CODE_LENGTH) || 'failed',
    message: message
      .slice(0, MESSAGE_LENGTH)
      .replaceAll(/\p{Surrogate}/gu, '\ufffd')
      .replaceAll(/(?![\n\t])[\p{Cc}\u2028\u2029]/gu, ' '),
  });

function printed(value: unknown, where: string): string {
  try {
    return toOneLine(JSON.stringify(value) ?? 'null');
  } catch (error) {
    const why = error instanceof Error ? error.message : 'it cannot be printed';
    throw new LedgerlineError('malformed', `${where} is no JSON: ${why}`, { where });
  }
}

function parseable(text: string): string {
  try {
    JSON.parse(text);
    return text.replaceAll(/\p{Surrogate}/gu, '\ufffd');
  } catch {
    throw new LedgerlineError('malformed', 'the result is no JSON text', { where: 'result' });
  }
}

function bounded(text: string, limit: 'stepBytes' | 'modelAnswerBytes', what: string): string {
  const max = limits[limit];
  if (Buffer.byteLength(text) <= max) return text;
  throw new LedgerlineError('too_large', `${what} holds at most ${max} bytes`, { limit, max });
}
