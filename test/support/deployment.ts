/** Where the protocol's tests find a server: any deployment that the environment names, or one of the test's own. */
import { randomUUID } from 'node:crypto';
import { startInProcessGateway } from './in-process-gateway.ts';
import { mintTestToken } from './token.ts';
import type { TokenOptions } from './token.ts';

export interface Deployment {
  readonly publicUrl: string;
  readonly internalUrl: string;
  readonly key: string;
  token(options?: TokenOptions): Promise<string>;
  stop(): Promise<void>;
}

const names = [
  'LEDGERLINE_TEST_PUBLIC_URL',
  'LEDGERLINE_TEST_INTERNAL_URL',
  'LEDGERLINE_TEST_INTERNAL_KEY',
  'LEDGERLINE_TEST_TOKEN_SECRET',
] as const;

/** All four variables together name a deployment. */
export async function startDeployment(): Promise<Deployment> {
  const [publicUrl, internalUrl, key, secret] = names.map((name) => process.env[name]);
  if (publicUrl === undefined || internalUrl === undefined || key === undefined || secret === undefined) {
    return startInProcessGateway();
  }
  return {
    publicUrl,
    internalUrl,
    key,
    token: (options) => mintTestToken(secret, options),
    stop: () => Promise.resolve(),
  };
}

/** No test meets another's sessions, in whatever deployment. */
export const freshId = (): string => `t-${randomUUID()}`;

/** The internal and the public side of a deployment, spoken to as a producer and a reader would. */
export interface Caller {
  /** By the internal key. */
  internal(
    method: string,
    path: string,
    body?: string | Uint8Array<ArrayBuffer>,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answer>;
  /** By a reader's token, which reaches everything unless told otherwise. */
  reader(method: string, path: string, options?: ReaderOptions): Promise<Answer>;
  /** A session that is there. */
  session(): Promise<string>;
  append(session: string, ...events: readonly string[]): Promise<Answer>;
}

export interface ReaderOptions {
  readonly token?: TokenOptions;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body; undefined when it is not JSON. */
  readonly json: unknown;
}

export function caller(deployment: Deployment): Caller {
  const ask = async (url: string, init: RequestInit): Promise<Answer> => {
    const response = await fetch(url, init);
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') === true && text !== '';
    return {
      status: response.status,
      headers: response.headers,
      text,
      json: isJson ? (JSON.parse(text) as unknown) : undefined,
    };
  };
  const self: Caller = {
    internal: (method, path, body, headers = {}) =>
      ask(deployment.internalUrl + path, {
        method,
        headers: { authorization: `Bearer ${deployment.key}`, 'content-type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body }),
      }),
    reader: async (method, path, options = {}) =>
      ask(deployment.publicUrl + path, {
        method,
        headers: {
          authorization: `Bearer ${await deployment.token(options.token)}`,
          'content-type': 'application/json',
          ...options.headers,
        },
        ...(options.body === undefined ? {} : { body: options.body }),
      }),
    async session() {
      const session = freshId();
      await self.internal('POST', '/sessions', JSON.stringify({ session }));
      return session;
    },
    append: (session, ...events) =>
      self.internal('POST', `/internal/sessions/${session}/events`, `{"events":[${events.join(',')}]}`),
  };
  return self;
}

export const event = (data: string, type = 'text.delta'): string => `{"type":"${type}","data":${data}}`;
