/** What opens a route on each listener, in the words of OpenAPI. */
import { TOKEN_COOKIE } from '../cookie.ts';
import type { Declaration, ListenerName } from './declaration.ts';
import type { PathOperation, SecurityScheme } from './openapi.ts';

export const securitySchemes: Readonly<Record<ListenerName, Readonly<Record<string, SecurityScheme>>>> = {
  public: {
    token: {
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'JWT',
      description: 'A token that names the sessions it reaches and its scope: `read`, `send`, `write`, `create`.',
    },
    cookie: {
      type: 'apiKey',
      in: 'cookie',
      name: TOKEN_COOKIE,
      description: 'The same token in a cookie. It opens GET and HEAD alone, for pages of allowed origins.',
    },
    ticket: {
      type: 'apiKey',
      in: 'query',
      name: 'ticket',
      description: 'Opens one stream for five minutes, for a browser’s own EventSource, which sends no header.',
    },
  },
  internal: {
    key: {
      type: 'http',
      scheme: 'bearer',
      description: 'The internal key. It reaches every session and has every scope.',
    },
  },
};

export function securityOf({ method, operation }: Declaration, listener: ListenerName): PathOperation['security'] {
  const { scope, takesTicket } = operation;
  if (scope === undefined) return [];
  if (listener === 'internal') return [{ key: [scope] }];
  return [
    { token: [scope] },
    ...(method === 'GET' ? [{ cookie: [scope] }] : []),
    ...(takesTicket === true ? [{ ticket: [scope] }] : []),
  ];
}
