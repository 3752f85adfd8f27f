/** What tests ask of a stub gateway, and how they name the problems that it answers. */
import { expect } from 'vitest';
import { KEY } from './stub-gateway.ts';
import type { StubGateway } from './stub-gateway.ts';
import type { TokenOptions } from './token.ts';

export interface StubAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** A text is sent as it is, any other body as JSON. */
const bodyOf = (body: unknown) =>
  body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) };

/** On the public listener, by a token. */
export async function askPublic(
  gateway: StubGateway,
  method: string,
  path: string,
  body?: unknown,
  token: TokenOptions = {},
): Promise<StubAnswer> {
  const authorization = `Bearer ${await gateway.token(token)}`;
  const headers = { authorization, 'content-type': 'application/json' };
  const answer = await fetch(gateway.publicUrl + path, { method, headers, ...bodyOf(body) });
  return { status: answer.status, body: await answer.json() };
}

/** On the internal listener, by its key. */
export async function askInternal(
  gateway: StubGateway,
  method: string,
  path: string,
  body?: unknown,
): Promise<StubAnswer> {
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
  const answer = await fetch(gateway.internalUrl + path, { method, headers, ...bodyOf(body) });
  return { status: answer.status, body: await answer.json() };
}

export const problem = (status: number, code: string, fields: object = {}): StubAnswer => ({
  status,
  body: expect.objectContaining({ type: `urn:ledgerline:problem:${code}`, ...fields }) as unknown,
});
