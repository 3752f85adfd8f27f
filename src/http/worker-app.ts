/** What a worker serves: whether it lives and is ready, and what it counts; nothing else. */
import { Hono } from 'hono';
import type { App, AppEnvironment } from './context.ts';
import { observe } from './observe.ts';
import type { Observer } from './observe.ts';
import { mountMetrics, mountStatus } from './status-routes.ts';

export function createWorkerApp(observer: Observer & { readonly ready: () => Promise<void> }): App {
  const app: App = new Hono<AppEnvironment>();
  observe(app, observer);
  mountStatus(app, observer);
  mountMetrics(app, observer.metrics);
  return app;
}
