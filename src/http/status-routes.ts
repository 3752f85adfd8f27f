/** What machines ask of a server: is it alive, is it ready, what does it count. */
import { LedgerlineError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { Metrics } from '../base/metrics.ts';
import { withDeadline } from '../base/service.ts';
import type { App } from './context.ts';
import { mount } from './dispatch.ts';

export interface Readiness {
  /** A round trip to the ledger; rejects when there is none. */
  readonly ready: () => Promise<void>;
  readonly isDraining: () => boolean;
}

export function mountStatus(app: App, { ready, isDraining }: Readiness): void {
  mount(app, '/healthz', { GET: (c) => c.json({ status: 'alive' }) });
  mount(app, '/readyz', {
    GET: async (c) => {
      if (isDraining()) throw new LedgerlineError('draining', 'this server is draining');
      await withDeadline(ready(), limits.readinessDeadlineMs, 'the ledger');
      return c.json({ status: 'ready' });
    },
  });
}

/** On the internal listener only. Without the key, since collectors rarely carry one and no label names a session. */
export function mountMetrics(app: App, metrics: Metrics): void {
  const { registry } = metrics;
  mount(app, '/metrics', {
    GET: async (c) => c.body(await registry.metrics(), 200, { 'Content-Type': registry.contentType }),
  });
}
