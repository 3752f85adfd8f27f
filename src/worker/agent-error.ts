/** How an agent says why its attempt failed, and what of a failure may be told to everybody who follows the session (pure). */
import { limits } from '../base/limits.ts';
import type { TurnError } from '../turn/turns.ts';

export interface AgentErrorOptions {
  /** Whether another attempt may fare better. True if left out. */
  readonly isRetryable?: boolean;
  readonly cause?: unknown;
}

/** Its code and message are part of `turn.failed`, which every reader of the session gets: put nothing secret in them. */
export class AgentError extends Error {
  override name = 'AgentError';
  /** A word for programs, such as `card_declined`. */
  readonly code: string;
  readonly isRetryable: boolean;

  constructor(code: string, message: string, { isRetryable = true, cause }: AgentErrorOptions = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.isRetryable = isRetryable;
  }
}

export interface Failure {
  readonly error: TurnError;
  readonly isRetryable: boolean;
}

/**
 * What is stored of whatever an agent threw. Only an `AgentError` was written to be read; any other message may hold an
 * address, a prompt or a key, so it goes to the worker's log and nowhere else.
 */
export function failureOf(thrown: unknown): Failure {
  try {
    return failureIn(thrown);
  } catch {
    // It throws when it is looked at; failing must not fail.
    return { error: unexplained, isRetryable: true };
  }
}

const unexplained: TurnError = {
  code: 'agent_failed',
  message: 'The agent failed; the log of its worker has the reason.',
};

function failureIn(thrown: unknown): Failure {
  const isRetryable = !isFinal(thrown);
  if (!(thrown instanceof AgentError)) return { error: unexplained, isRetryable };
  const code = thrown.code.replaceAll(/[^A-Za-z0-9._-]/g, '_').slice(0, CODE_LENGTH);
  return {
    error: { code: code === '' ? 'agent_failed' : code, message: cleaned(thrown.message, MESSAGE_BYTES) },
    isRetryable,
  };
}

const isFinal = (thrown: unknown): boolean =>
  typeof thrown === 'object' && thrown !== null && 'isRetryable' in thrown && thrown.isRetryable === false;

const CODE_LENGTH = 64;
/** Each escape of a cleaned text is at most twice its size, and the code and the braces need room, too. */
const MESSAGE_BYTES = limits.turnErrorBytes / 2 - 2 * CODE_LENGTH;

/** Without what a text in Postgres refuses [hatchet#4611], and no longer than fits; a character is kept whole or dropped. */
function cleaned(message: string, maxBytes: number): string {
  const text = message.replaceAll(/[\p{Surrogate}]/gu, '\ufffd').replaceAll(/(?![\n\t])\p{Cc}/gu, ' ');
  if (Buffer.byteLength(text) <= maxBytes) return text;
  const ellipsis = '…';
  const room = Buffer.from(text).subarray(0, maxBytes - Buffer.byteLength(ellipsis));
  return room.toString().replace(/\ufffd+$/u, '') + ellipsis;
}
