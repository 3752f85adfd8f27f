/** `docs/OPERATIONS.md` and the code name the same settings, limits, metrics and error codes, with the same values. */
import { readdirSync } from 'node:fs';
import { Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { accessLimits } from '../../src/base/access-limits.ts';
import { deliveryLimits } from '../../src/base/delivery-limits.ts';
import { createInboxMetrics, createRelayMetrics } from '../../src/base/delivery-metrics.ts';
import { errorCodes } from '../../src/base/errors.ts';
import { limits as base } from '../../src/base/limits.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import { readModelConfig } from '../../src/cli/demo-agent-config.ts';
import {
  readClientConfig,
  readDatabaseConfig,
  readRelayConfig,
  readServerConfig,
  readWorkerConfig,
} from '../../src/config.ts';
import type { Environment } from '../../src/config.ts';
import {
  difference,
  documentedDefaults,
  documentedLimits,
  documentedMetrics,
  metricText,
  quoted,
  rowsOf,
  shown,
} from './operations.ts';
import { readText } from './sources.ts';

const document = readText('docs/OPERATIONS.md');
const required: Environment = {
  DATABASE_URL: 'postgres://user@host/database',
  NATS_URL: 'nats://host:4222',
  LEDGERLINE_TOKEN_SECRET: 'x'.repeat(32),
  LEDGERLINE_INTERNAL_KEY: 'x'.repeat(32),
  // Without both of them a development server asks no model.
  OPENAI_BASE_URL: 'http://host',
  OPENAI_API_KEY: 'x',
};
const readers = [
  readServerConfig,
  readWorkerConfig,
  readRelayConfig,
  readClientConfig,
  readDatabaseConfig,
  readModelConfig,
];
const configs = (environment: Environment): unknown[] => readers.map((read) => read(environment));

describe('a setting', () => {
  const defaults = documentedDefaults(document);

  test('is documented if it is read, and read if it is documented', () => {
    const asked = new Set<string>();
    const noted = new Proxy(required, {
      get: (target, name: string) => {
        asked.add(name);
        return target[name];
      },
    });
    configs(noted);
    expect(difference(defaults.keys(), asked)).toEqual([]);
  });

  test.each([...defaults].filter(([, value]) => /^(?!none|required)/.test(value)))(
    '%s has the default %s',
    (name, value) => {
      expect(configs({ ...required, [name]: value })).toEqual(configs(required));
    },
  );

  test.each([...defaults].filter(([, value]) => value.startsWith('required')))('%s is missed', (name) => {
    expect(() => readServerConfig({ ...required, [name]: '' })).toThrow(name);
  });
});

test('a limit is documented with its value', async () => {
  const modules = readdirSync('src/base').flatMap((file) => /^(.*limits)\.ts$/.exec(file)?.slice(1) ?? []);
  const limits = await Promise.all(
    modules.map(async (module) => {
      const exported = (await import(`../../src/base/${module}.ts`)) as Record<string, Record<string, number>>;
      const [bounds = {}] = Object.values(exported);
      return Object.entries(bounds).map(([name, value]) => `${module}.${name} ${shown(name, value)}`);
    }),
  );
  expect(difference(documentedLimits(document), limits.flat())).toEqual([]);
});

test('a metric is documented with its type and its labels', () => {
  const registry = new Registry();
  createRelayMetrics(registry);
  createInboxMetrics(registry);
  const metrics = [createMetrics().registry, registry].flatMap((each) => each.getMetricsAsArray());
  const real = metrics.map((metric) => {
    const { name, type, labelNames } = metric as unknown as { name: string; type: string; labelNames?: string[] };
    return metricText(name, type ?? metric.constructor.name.toLowerCase(), labelNames ?? []);
  });
  expect(difference(documentedMetrics(document), real)).toEqual([]);
});

test('the connections that a process takes are documented, for whoever sets max_connections', () => {
  const of = base;
  const writes =
    of.lanes +
    of.soloConnections +
    of.turnConnections +
    of.settleConnections +
    of.renewConnections +
    of.stepConnections;
  const endings = of.soloConnections;
  const readiness = 1;
  const reads = of.replayConnections + of.historyConnections + of.controlConnections + endings + readiness;
  const gateway = writes + reads + accessLimits.revocationConnections;
  const [said] = /a gateway takes up to[^.]+\./.exec(document.replaceAll(/\s+/g, ' ')) ?? [];
  expect(said).toBe(
    `a gateway takes up to ${gateway} connections, a worker ${writes}, a relay ${deliveryLimits.relayConnections}.`,
  );
});

test('an error code is documented with what to do about it', () => {
  const rows = rowsOf(document, 'Error codes').map(([codes = '', advice = '']) => [quoted(codes), advice] as const);
  expect(
    difference(
      rows.flatMap(([codes]) => codes),
      errorCodes,
    ),
  ).toEqual([]);
  for (const [codes, advice] of rows.slice(1)) expect([codes, advice.length > 10]).toEqual([codes, true]);
});

describe('the reading of the document', () => {
  const made =
    '## Settings\n\n| variable | default | |\n|---|---|---|\n| `A`, `B` | `1`, `2` | x |\n| `C` | none | |\n';
  test('gives each of several names its own default', () => {
    expect([...documentedDefaults(made)]).toEqual([
      ['A', '1'],
      ['B', '2'],
      ['C', 'none'],
    ]);
  });
  test('tells what either side has alone', () => {
    expect(difference(['a', 'b'], ['b', 'c'])).toEqual([
      'a is in docs/OPERATIONS.md alone',
      'c is not in docs/OPERATIONS.md',
    ]);
  });
  test.each([
    ['payloadBytes', 1_048_576, '1 MiB'],
    ['lineBytes', 1_052_672, '1,028 KiB'],
    ['stallMs', 120_000, '2 min'],
    ['batchMs', 33, '33 ms'],
    ['keySeconds', 82_800, '23 h'],
    ['turnDays', 30, '30 d'],
    ['groupEvents', 4_000, '4,000'],
  ])('writes %s %d as %s', (name, value, text) => expect(shown(name, value)).toBe(text));
});
