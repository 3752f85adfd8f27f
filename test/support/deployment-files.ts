/** The files of a deployment as data: processes with their settings, and what Kubernetes is told, each with the file it is from. */
import { readFileSync, readdirSync } from 'node:fs';
import { parse, parseAllDocuments } from 'yaml';

const root = new URL('../../', import.meta.url);
export const readDeployed = (path: string): string => readFileSync(new URL(path, root), 'utf8');

/** A process of the image, as a platform starts it. */
export interface DeployedProcess {
  readonly name: string;
  /** What follows `ledgerline` on its command line. */
  readonly command: readonly string[];
  /** A secret's value is a stand-in. */
  readonly environment: Readonly<Record<string, string>>;
  /** From its SIGTERM to its end by force. */
  readonly graceMs: number;
  /** Of that, what passes before it hears of its end. */
  readonly preStopMs: number;
}

export interface ComposeService {
  readonly image: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string | number>>;
  readonly stop_grace_period?: string;
  readonly ports?: readonly string[];
  readonly networks?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: { readonly test?: readonly string[]; readonly disable?: boolean };
}

export const composeServices = (path: string): Readonly<Record<string, ComposeService>> =>
  (parse(readDeployed(path), { merge: true }) as { services: Record<string, ComposeService> }).services;

/** Long enough for every kind of secret. */
const STAND_IN = 's'.repeat(40);

/** What Compose makes of `${NAME:-default}` and `${NAME:?message}`. */
const interpolated = (text: string): string =>
  text.replaceAll(/\$\{\w+:([-?])([^}]*)\}/g, (_, kind: string, rest: string) => (kind === '-' ? rest : STAND_IN));

export function composeProcesses(): DeployedProcess[] {
  return Object.entries(composeServices('deploy/compose.yaml'))
    .filter(([, { image }]) => image.includes('LEDGERLINE_IMAGE'))
    .map(([name, service]) => ({
      name: `compose ${name}`,
      command: service.command ?? ['serve'],
      environment: Object.fromEntries(
        Object.entries(service.environment ?? {}).map(([variable, value]) => [variable, interpolated(String(value))]),
      ),
      // Docker's own, where none is given
      graceMs: Number(/^(\d+)s$/.exec(service.stop_grace_period ?? '10s')?.[1]) * 1_000,
      preStopMs: 0,
    }));
}

type Labels = Readonly<Record<string, string>>;
export interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}
export interface Container {
  readonly args: readonly string[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
  readonly envFrom?: readonly { readonly configMapRef: { readonly name: string } }[];
  readonly startupProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly lifecycle?: { readonly preStop: { readonly exec: { readonly command: readonly [string, string] } } };
  readonly securityContext: object;
}
export interface Pod {
  readonly enableServiceLinks: boolean;
  readonly automountServiceAccountToken: boolean;
  readonly terminationGracePeriodSeconds?: number;
  readonly securityContext: object;
  readonly containers: readonly [Container];
}
export interface Workload {
  readonly kind: string;
  readonly name: string;
  readonly labels: Labels;
  readonly selector: Labels | undefined;
  readonly pod: Pod;
}
export interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: Record<string, unknown>;
}

const folder = 'deploy/kubernetes/';
interface Kustomization {
  readonly resources: readonly string[];
  readonly configMapGenerator: readonly { readonly name: string; readonly literals: readonly string[] }[];
}
const kustomization = parse(readDeployed(`${folder}kustomization.yaml`)) as Kustomization;

/** The files that are there, but for the two that are no resources. */
export const manifestFiles = readdirSync(new URL(folder, root))
  .filter((file) => !['kustomization.yaml', 'secret.example.yaml'].includes(file))
  .toSorted();
export const resources = kustomization.resources.toSorted();

const manifestsOf = (file: string): Manifest[] =>
  parseAllDocuments(readDeployed(folder + file)).map((document) => document.toJS() as Manifest);
export const manifests: readonly Manifest[] = manifestFiles.flatMap(manifestsOf);

interface Template {
  readonly template: { readonly metadata: { readonly labels: Labels }; readonly spec: Pod };
  readonly selector?: { readonly matchLabels: Labels };
}
export const workloads: readonly Workload[] = manifests
  .filter(({ spec }) => spec !== undefined && 'template' in spec)
  .map(({ kind, metadata, spec }) => {
    const { template, selector } = spec as unknown as Template;
    const { labels } = template.metadata;
    return { kind, name: metadata.name, labels, selector: selector?.matchLabels, pod: template.spec };
  });

export function kubernetesProcesses(): DeployedProcess[] {
  const [{ literals } = { literals: [] }] = kustomization.configMapGenerator;
  const shared = Object.fromEntries(
    literals.map((literal) => [literal.split('=', 1)[0], literal.replace(/^\w+=/, '')]),
  );
  return workloads.map(({ name, pod }) => {
    const [{ args, env = [], envFrom = [], lifecycle }] = pod.containers;
    const own = env.map(({ name: variable, value }) => [variable, value ?? standInFor(variable)]);
    return {
      name: `Kubernetes ${name}`,
      command: args,
      environment: { ...(envFrom.length > 0 ? shared : {}), ...(Object.fromEntries(own) as Record<string, string>) },
      // Kubernetes' own, where none is given
      graceMs: (pod.terminationGracePeriodSeconds ?? 30) * 1_000,
      preStopMs: Number(lifecycle?.preStop.exec.command[1] ?? 0) * 1_000,
    };
  });
}

const standInFor = (variable: string): string =>
  variable === 'DATABASE_URL' ? 'postgres://user:password@host:5432/database' : STAND_IN;
