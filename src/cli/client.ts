/** How a command reaches a server: which one, with what credential, and what its refusals mean to a person. */
import { join } from 'node:path';
import { z } from 'zod';
import { errorCodes, LedgerlineError, toError } from '../base/errors.ts';
import type { ErrorCode } from '../base/errors.ts';
import { readClientConfig } from '../config.ts';
import type { Context } from './context.ts';
import { DATA_FOLDER, readDevServer } from './dev-file.ts';

export interface Target {
  readonly url: string;
  /** A token on the public listener, the key on the internal one; both travel as `Authorization: Bearer`. */
  readonly credential: string;
}

/** The internal listener, for what only producers do. */
export async function internalTarget(context: Context): Promise<Target> {
  const { internal } = await targets(context);
  if (internal !== undefined) return internal;
  throw missing('LEDGERLINE_INTERNAL_URL and LEDGERLINE_KEY');
}

/** The public listener, or else the internal one, where every public route answers too. */
export async function anyTarget(context: Context): Promise<Target> {
  const { open, internal } = await targets(context);
  const target = open ?? internal;
  if (target !== undefined) return target;
  throw missing('LEDGERLINE_URL and LEDGERLINE_TOKEN (or LEDGERLINE_INTERNAL_URL and LEDGERLINE_KEY)');
}

/** As soon as one variable is set the folder's development server is out of the question: never half of each. */
async function targets(context: Context): Promise<{ open: Target | undefined; internal: Target | undefined }> {
  const { url, internalUrl, token, key } = readClientConfig(context.env);
  if (url !== undefined || internalUrl !== undefined || token !== undefined || key !== undefined) {
    return { open: pair(url, token), internal: pair(internalUrl, key) };
  }
  const dev = await readDevServer(join(context.folder, DATA_FOLDER));
  if (dev === undefined) {
    throw new LedgerlineError(
      'configuration',
      'no server: set LEDGERLINE_URL and LEDGERLINE_TOKEN (to append: LEDGERLINE_INTERNAL_URL and LEDGERLINE_KEY), ' +
        'or run this in the folder of a running `ledgerline dev`',
    );
  }
  return { open: pair(dev.public, dev.token), internal: pair(dev.internal, dev.key) };
}

function pair(url: string | undefined, credential: string | undefined): Target | undefined {
  return url === undefined || credential === undefined ? undefined : { url, credential };
}

const missing = (names: string): LedgerlineError =>
  new LedgerlineError('configuration', `this command needs ${names}; both must be set`);

export interface Asked {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: object;
  readonly stop: AbortSignal;
}

/** One request and its JSON answer; a refusal or an absent server is thrown with a message for a person. */
export async function request(target: Target, { method, path, body, stop }: Asked): Promise<unknown> {
  const headers = { authorization: `Bearer ${target.credential}`, 'content-type': 'application/json' };
  let response: Response;
  let text: string;
  try {
    response = await fetch(target.url + path, {
      method,
      headers,
      signal: stop,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw await refusal(response);
    text = await response.text();
  } catch (error) {
    if (error instanceof LedgerlineError) throw error;
    if (stop.aborted) throw new LedgerlineError('unavailable', 'interrupted before the server answered', {}, error);
    throw noAnswer(target.url, error);
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw foreign(response, error);
  }
}

/** An answer in the shape that Ledgerline gives it; in any other it is somebody else's. */
export function understood<Shape extends z.ZodType>(shape: Shape, answer: unknown, url: string): z.infer<Shape> {
  const { success, data, error } = shape.safeParse(answer);
  if (success) return data;
  throw new LedgerlineError('internal', `${url} answered, and not as Ledgerline does`, {}, error);
}

/** Asks the server for something, and understands its answer. */
export async function post<Shape extends z.ZodType>(
  context: Context,
  path: string,
  shape: Shape,
  body?: object,
): Promise<z.infer<Shape>> {
  const target = await anyTarget(context);
  const answer = await request(target, { method: 'POST', path, stop: context.stop, ...(body && { body }) });
  return understood(shape, answer, target.url + path);
}

const problemShape = z.object({ type: z.string(), title: z.string().optional(), detail: z.string().optional() });
const codeShape = z.enum(errorCodes);

/** The error that a problem (RFC 9457) stands for; what is not a problem was not said by Ledgerline. */
export async function refusal(response: Response): Promise<LedgerlineError> {
  const body = await response.json().catch(() => undefined);
  const problem = problemShape.safeParse(body).data;
  if (problem === undefined) return foreign(response);
  const code: ErrorCode = codeShape.safeParse(problem.type.split(':').at(-1)).data ?? 'internal';
  return new LedgerlineError(code, `${problem.detail ?? problem.title ?? 'refused'} (${response.status} ${code})`);
}

const foreign = ({ url, status }: Response, cause?: unknown): LedgerlineError =>
  new LedgerlineError('internal', `${url} answered ${status}, and not as Ledgerline does`, {}, cause);

/** A server that cannot be reached, in words. */
export function noAnswer(url: string, error: unknown): LedgerlineError {
  return new LedgerlineError(
    'unavailable',
    `no answer from ${url} (${causeOf(error)}): is the server running there?`,
    {},
    error,
  );
}

/** What lies behind fetch's "fetch failed". */
function causeOf(thrown: unknown): string {
  const error = toError(thrown) as NodeJS.ErrnoException;
  return error.cause === undefined ? (error.code ?? error.message) : causeOf(error.cause);
}
