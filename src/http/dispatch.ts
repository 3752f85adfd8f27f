/** Binds a path to its handlers by method; every other method is told which there are. */
import { LedgerlineError } from '../base/errors.ts';
import type { App, Handler } from './context.ts';

type Method = 'GET' | 'POST' | 'DELETE';

/** A GET handler also gets HEAD, whose body Hono drops: one that writes to the socket itself must look at the method. */
export function mount(app: App, pattern: string, handlers: Readonly<Partial<Record<Method, Handler>>>): void {
  const byMethod = new Map<string, Handler>(Object.entries(handlers));
  const get = byMethod.get('GET');
  if (get !== undefined) byMethod.set('HEAD', get);
  const allowed = [...byMethod.keys(), 'OPTIONS'].toSorted().join(', ');
  app.all(pattern, (c) => {
    c.set('route', pattern);
    const handler = byMethod.get(c.req.method);
    if (handler !== undefined) return handler(c);
    c.header('Allow', allowed);
    if (c.req.method === 'OPTIONS') return c.body(null, 204);
    throw new LedgerlineError('method_not_allowed', `this route takes ${allowed}`);
  });
}
