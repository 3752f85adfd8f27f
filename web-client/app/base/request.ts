/** One question to the page's own gateway, with this browser's token; refusals become the client library's error. */
import { FollowError } from '../../src/follow-error.ts';
import { readToken } from '../access/token.ts';

interface RequestOptions {
  readonly body?: object;
  readonly signal?: AbortSignal;
}

/** Rejects with a `FollowError`. */
export async function request<T>(method: 'GET' | 'POST', path: string, options: RequestOptions = {}): Promise<T> {
  const { body, signal } = options;
  const token = readToken();
  let response: Response;
  let text: string;
  try {
    response = await fetch(path, {
      method,
      cache: 'no-store',
      headers: {
        ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
    text = await response.text();
  } catch (cause) {
    throw signal?.aborted === true
      ? new FollowError('aborted', 'aborted', { cause })
      : new FollowError('unavailable', 'The gateway does not answer.', { cause });
  }
  const value = parse(text);
  if (response.ok && value !== undefined) return value as T;
  if (response.ok)
    throw new FollowError('not_ledgerline', 'The answer is not one of Ledgerline.', { status: response.status });
  throw refusal(response.status, value);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function refusal(status: number, value: unknown): FollowError {
  const { type, title, detail } = (value ?? {}) as { type?: unknown; title?: unknown; detail?: unknown };
  const problem = typeof type === 'string' ? /^urn:ledgerline:problem:(\w+)$/.exec(type)?.[1] : undefined;
  const words = [detail, title].find((text): text is string => typeof text === 'string');
  return new FollowError(
    status >= 500 || [408, 425, 429].includes(status) ? 'unavailable' : 'refused',
    words ?? `The gateway answered ${status}.`,
    {
      status,
      ...(problem === undefined ? {} : { problem }),
    },
  );
}
