/** The files of a deployment name what exists: commands, settings, ports, probes, labels; and leave a drain its time. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { Readable } from 'node:stream';
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { run } from '../../src/cli/program.ts';
import { readDatabaseConfig, readRelayConfig, readServerConfig, readWorkerConfig } from '../../src/config.ts';
import {
  composeProcesses,
  composeServices,
  kubernetesProcesses,
  manifestFiles,
  manifests,
  readDeployed,
  resources,
  workloads,
} from '../support/deployment-files.ts';
import type { Probe } from '../support/deployment-files.ts';
import { startUpstream } from '../support/nginx-upstream.ts';

const processes = [...composeProcesses(), ...kubernetesProcesses()];
const configs = {
  serve: readServerConfig,
  relay: readRelayConfig,
  worker: readWorkerConfig,
  migrate: readDatabaseConfig,
};
const configOf = ({ command, environment }: (typeof processes)[number]) =>
  configs[command[0] as keyof typeof configs](environment);

/** Settings without which nothing starts. */
const required = {
  DATABASE_URL: 'postgres://host/database',
  NATS_URL: 'nats://host:4222',
  LEDGERLINE_TOKEN_SECRET: 's'.repeat(40),
  LEDGERLINE_INTERNAL_KEY: 's'.repeat(40),
};

/** What a process may take to end by itself beyond its drain. */
const MARGIN_MS = 5_000;

describe.each(processes)('$name', (deployed) => {
  test('is started with a command of this program', async () => {
    const said: string[] = [];
    const note = (text: string): void => void said.push(text);
    const output = { print: () => Promise.resolve(), note, isClosed: false };
    const stop = new AbortController().signal;
    const context = { env: {}, folder: '/', input: Readable.from([]), output, stop, clock: systemClock };
    // every word of it is understood, and then the settings are missing
    expect(await run(['node', 'ledgerline', ...deployed.command], context)).toBe(2);
    expect(said.join('\n')).toContain('DATABASE_URL is missing');
  });

  test('is given all the settings that it needs, and none that nobody reads', () => {
    expect(() => configOf(deployed)).not.toThrow();
    const read = new Set<string>();
    const watched = new Proxy<Record<string, string>>(
      { ...required, ...deployed.environment },
      {
        get(environment, name) {
          read.add(String(name));
          return environment[String(name)];
        },
      },
    );
    for (const config of Object.values(configs)) config(watched);
    expect(Object.keys(deployed.environment).filter((name) => !read.has(name))).toEqual([]);
  });

  test('has its time to drain before it is killed', () => {
    const { drainMs = 0 } = configOf(deployed) as { readonly drainMs?: number };
    expect(deployed.graceMs).toBeGreaterThanOrEqual(deployed.preStopMs + drainMs + MARGIN_MS);
  });
});

describe('Compose', () => {
  const services = composeServices('deploy/compose.yaml');

  test('gives nginx a value for each name in its file, and no other', () => {
    const asked = new Set([...readDeployed('deploy/nginx.conf').matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name));
    const given = Object.keys(services['nginx']?.environment ?? {});
    expect(new Set(given.filter((name) => !name.includes('ENVSUBST')))).toEqual(asked);
  });

  test('opens the port of nginx alone, which reaches no store', () => {
    expect(Object.keys(services).filter((name) => services[name]?.ports !== undefined)).toEqual(['nginx']);
    // nor do producers, who are on the internal network
    for (const store of ['postgres', 'nats']) expect(services[store]?.networks).toEqual(['stores']);
    expect(services['nginx']?.networks).toEqual(['public']);
  });

  test('starts nothing of a release before its migrations are done', () => {
    const ours = composeProcesses().map(({ name }) => name.replace('compose ', ''));
    for (const name of ours.filter((service) => service !== 'migrate')) {
      expect(services[name]?.depends_on?.['migrate']?.condition).toBe('service_completed_successfully');
    }
  });

  test.each(['compose.yaml', 'deploy/compose.yaml'])(
    '%s asks Postgres where its first start does not answer',
    (path) => {
      expect(String(composeServices(path)['postgres']?.healthcheck?.test)).toContain('--host 127.0.0.1');
    },
  );

  test('at the root still starts the stores alone, with no variable set', () => {
    expect(Object.keys(composeServices('compose.yaml'))).toEqual(['postgres', 'nats']);
    expect(readDeployed('compose.yaml')).not.toContain(':?');
  });
});

describe('Kubernetes', () => {
  test('applies every manifest that is there', () => expect(resources).toEqual(manifestFiles));

  test('gives every process the settings that all share, such as that of a pooler', () => {
    expect(workloads.filter(({ pod }) => pod.containers[0].envFrom?.[0]?.configMapRef.name !== 'ledgerline')).toEqual(
      [],
    );
  });

  test.each(workloads)(
    '$name runs as the restricted standard wants, and gets no setting from the names of services',
    ({ pod }) => {
      expect(pod).toMatchObject({
        enableServiceLinks: false,
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      });
      expect(pod.containers[0].securityContext).toMatchObject({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
    },
  );

  test.each(workloads.filter(({ kind }) => kind === 'Deployment'))(
    '$name is asked where it answers',
    ({ name, pod }) => {
      const [container] = pod.containers;
      const process = processes.find((one) => one.name === `Kubernetes ${name}`);
      const { publicPort, internalPort } = readServerConfig({ ...required, ...process?.environment });
      const status = Number(container.args[container.args.indexOf('--port') + 1]);
      const ports = container.args[0] === 'serve' ? { public: publicPort, internal: internalPort } : { status };
      expect(Object.fromEntries(container.ports?.map((port) => [port.name, port.containerPort]) ?? [])).toEqual(ports);
      const probes = [container.startupProbe, container.readinessProbe, container.livenessProbe] as readonly Probe[];
      for (const { httpGet } of probes) {
        expect(Object.keys(ports)).toContain(httpGet.port);
        expect(readDeployed('src/http/status-routes.ts')).toContain(`mount(app, '${httpGet.path}'`);
      }
    },
  );

  test('selects pods by labels that they have', () => {
    for (const { labels, selector } of workloads) expect(labels).toMatchObject(selector ?? {});
    const gateway = workloads.find(({ name }) => name === 'ledgerline-gateway')?.labels;
    for (const { spec } of manifests.filter(({ kind }) => kind === 'Service'))
      expect(gateway).toEqual(spec['selector']);
    const budget = manifests.find(({ kind }) => kind === 'PodDisruptionBudget');
    expect(budget?.spec['selector']).toEqual({ matchLabels: gateway });
  });

  test('brings readers to the public port, and only who is named to the internal one', () => {
    const service = (name: string) =>
      manifests.find(({ kind, metadata }) => kind === 'Service' && metadata.name === name);
    expect(service('ledgerline')?.spec['ports']).toEqual([{ name: 'public', port: 80, targetPort: 'public' }]);
    const ingress = JSON.stringify(manifests.find(({ kind }) => kind === 'Ingress')?.spec);
    expect(ingress).toContain('{"name":"ledgerline","port":{"name":"public"}}');
    const policy = manifests.find(
      ({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name.endsWith('gateway'),
    );
    const rules = policy?.spec['ingress'] as { ports: { port: string }[]; from?: object[] }[];
    expect(rules.map(({ ports, from }) => [ports[0]?.port, from !== undefined])).toEqual([
      ['public', false],
      ['internal', true],
    ]);
  });
});

describe('the image', () => {
  const dockerfile = readDeployed('Dockerfile').replaceAll(/\\\n\s*/g, '');

  test('is made of what is there and not ignored', () => {
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+)$/gm)].flatMap(([, words]) =>
      (words ?? '').split(' ').slice(0, -1),
    );
    const allowed = readDeployed('.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => line.slice(1));
    expect(copied.filter((path) => !existsSync(new URL(`../../${path}`, import.meta.url)))).toEqual([]);
    expect(copied.filter((path) => !allowed.includes(path.split('/', 1)[0] ?? ''))).toEqual([]);
  });

  test('runs the program itself, so that it hears SIGTERM', () => {
    expect(dockerfile).toContain('\nENTRYPOINT ["node", "dist/main.js"]\nCMD ["serve"]\n');
  });

  test.each([
    [200, 0],
    [503, 1],
    ['nothing', 1],
  ])('is healthy by what /healthz answers: %s', async (status, exit) => {
    const upstream = await startUpstream((response) => {
      if (typeof status === 'number') response.writeHead(status).end();
      else response.socket?.destroy();
    });
    onTestFinished(() => upstream.stop());
    const [, words = ''] = /^HEALTHCHECK .*CMD (\[.*\])$/m.exec(dockerfile) ?? [];
    const [, ...rest] = JSON.parse(words) as [string, ...string[]];
    const environment = { LEDGERLINE_INTERNAL_PORT: upstream.address.split(':')[1] };
    const check = spawn(process.execPath, rest, { env: environment, stdio: 'ignore' });
    expect((await once(check, 'exit'))[0]).toBe(exit);
    expect(upstream.asked.map(({ path }) => path)).toEqual(['/healthz']);
  });
});
