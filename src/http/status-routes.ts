/** What machines ask of a server: is it alive, is it ready, what does it count. */
import { z } from 'zod';
import { LedgerlineError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { Metrics } from '../base/metrics.ts';
import { withDeadline } from '../base/service.ts';
import type { App } from './context.ts';
import { mount } from './dispatch.ts';
import { json } from './openapi/operation.ts';
import type { Operation } from './openapi/operation.ts';

const statusShape = (word: string, id: string) =>
  z.object({ status: z.literal(word) }).meta({ id, examples: [{ status: word }] });

const healthOperation = {
  id: 'readHealth',
  group: 'Server',
  summary: 'Ask whether it lives',
  answers: { 200: { description: 'It does.', contents: json(statusShape('alive', 'Health')) } },
} as const satisfies Operation;

const readinessOperation = {
  id: 'readReadiness',
  group: 'Server',
  summary: 'Ask whether it is ready',
  answers: { 200: { description: 'It is.', contents: json(statusShape('ready', 'Readiness')) } },
  refusals: ['draining', 'unavailable'],
} as const satisfies Operation;

const metricsShape = z.string().meta({
  id: 'Metrics',
  description: 'The text format of Prometheus.',
  examples: ['ledgerline_requests_total{route="/sessions",status="201"} 1\n'],
});

const metricsOperation = {
  id: 'readMetrics',
  group: 'Server',
  summary: 'Read the metrics',
  answers: { 200: { description: 'In the text format of Prometheus.', contents: { 'text/plain': metricsShape } } },
} as const satisfies Operation;

export interface Readiness {
  /** A round trip to the ledger; rejects when there is none. */
  readonly ready: () => Promise<void>;
  readonly isDraining: () => boolean;
}

export function mountStatus(app: App, { ready, isDraining }: Readiness): void {
  mount(app, '/healthz', { GET: { operation: healthOperation, handle: (c) => c.json({ status: 'alive' }) } });
  mount(app, '/readyz', {
    GET: {
      operation: readinessOperation,
      async handle(c) {
        if (isDraining()) throw new LedgerlineError('draining', 'this server is draining');
        await withDeadline(ready(), limits.readinessDeadlineMs, 'the ledger');
        return c.json({ status: 'ready' });
      },
    },
  });
}

/** On the internal listener only. Without the key, since collectors rarely carry one and no label names a session. */
export function mountMetrics(app: App, metrics: Metrics): void {
  const { registry } = metrics;
  mount(app, '/metrics', {
    GET: {
      operation: metricsOperation,
      handle: async (c) => c.body(await registry.metrics(), 200, { 'Content-Type': registry.contentType }),
    },
  });
}
