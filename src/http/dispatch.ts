/** Binds a path to its handlers by method; every other method is told which there are. */
import { LedgerlineError } from '../base/errors.ts';
import type { App, Handler } from './context.ts';
import type { Declaration, Method } from './openapi/declaration.ts';
import { observed } from './observe.ts';
import type { Described } from './openapi/operation.ts';

const declarations = new WeakMap<App, Declaration[]>();

/** What an app's mounted routes say of themselves, in the order in which they were mounted. */
export const declarationsOf = (app: App): readonly Declaration[] => declarations.get(app) ?? [];

/** A route of the API: it cannot be mounted without being described. */
export function mount(app: App, pattern: string, routes: Readonly<Partial<Record<Method, Described>>>): void {
  const entries = Object.entries(routes) as [Method, Described][];
  const declared = entries.map(([method, { operation }]) => ({ method, path: pattern, operation }));
  declarations.set(app, [...declarationsOf(app), ...declared]);
  mountApart(app, pattern, Object.fromEntries(entries.map(([method, { handle }]) => [method, handle])));
}

/**
 * What is no part of the API: pages, and the lab. A GET handler also gets HEAD, whose body Hono drops: one that writes to the
 * socket itself must look at the method.
 */
export function mountApart(app: App, pattern: string, handlers: Readonly<Partial<Record<Method, Handler>>>): void {
  const byMethod = new Map<string, Handler>(Object.entries(handlers));
  const get = byMethod.get('GET');
  if (get !== undefined) byMethod.set('HEAD', get);
  const allowed = [...byMethod.keys(), 'OPTIONS'].toSorted().join(', ');
  const dispatch: Handler = (c) => {
    const handler = byMethod.get(c.req.method);
    if (handler !== undefined) return handler(c);
    c.header('Allow', allowed);
    if (c.req.method === 'OPTIONS') return c.body(null, 204);
    throw new LedgerlineError('method_not_allowed', `this route takes ${allowed}`);
  };
  app.all(pattern, observed(app, pattern, dispatch));
}
