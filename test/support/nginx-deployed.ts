/** The nginx of a deployment: its file itself, filled in as the image does it, with a certificate of the run’s own. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';
import { spawnGuarded } from '../../src/db/guarded-process.ts';
import { freePort } from '../../src/db/postgres-process.ts';
import { findNginx } from './nginx.ts';
import { installByApt, onPath } from './path-lookup.ts';
import { eventually } from './waits.ts';

export interface DeployedNginx {
  /** TLS, with a certificate that nobody has signed. */
  readonly url: string;
  /** A line of JSON a request, written when it is over. */
  accessLog(): Record<string, string>[];
  /** All that it wrote so far, whatever kind of log it is. */
  logs(): string;
  stop(): Promise<void>;
}

const template = fileURLToPath(new URL('../../deploy/nginx.conf', import.meta.url));

/** Each gateway as `host:port` of its public listener. */
export async function startDeployedNginx(gateways: readonly [string, string]): Promise<DeployedNginx> {
  const folder = mkdtempSync(join(inject('runFolder'), 'nginx-'));
  // its workers are another user's when it was started by root
  chmodSync(folder, 0o755);
  const port = await freePort();
  const configuration = join(folder, 'nginx.conf');
  const accessLog = join(folder, 'access.log');
  writeFileSync(
    configuration,
    fillIn(readFileSync(template, 'utf8'), {
      NGINX_LISTEN: `127.0.0.1:${port}`,
      ...makeCertificate(folder),
      NGINX_GATEWAY_1: gateways[0],
      NGINX_GATEWAY_2: gateways[1],
      NGINX_STATE: folder,
      NGINX_ACCESS_LOG: accessLog,
    }),
  );
  const said: string[] = [];
  const nginx = await spawnGuarded({
    command: findNginx(),
    arguments: ['-p', folder, '-c', configuration, '-e', 'stderr', '-g', 'daemon off;'],
    stopSignal: 'TERM',
    workingFolder: folder,
    onLine: (line) => said.push(line),
  });
  const pidFile = join(folder, 'nginx.pid');
  await eventually('nginx serves', () => !nginx.isRunning || readFileSync(pidFile, 'utf8') !== '');
  if (!nginx.isRunning) throw new Error(`nginx did not start:\n${said.join('\n')}`);
  return {
    url: `https://127.0.0.1:${port}`,
    accessLog: () =>
      readFileSync(accessLog, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Record<string, string>),
    logs: () => [readFileSync(accessLog, 'utf8'), ...said].join('\n'),
    async stop() {
      nginx.signal('SIGTERM');
      await nginx.ended;
    },
  };
}

/** What envsubst does; a name without a value would stay, and be taken for a variable of nginx. */
function fillIn(text: string, values: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\$\{(\w+)\}/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`deploy/nginx.conf asks for ${name}`);
    return value;
  });
}

/** By the command of deploy/README.md. */
function makeCertificate(folder: string): { NGINX_CERTIFICATE: string; NGINX_CERTIFICATE_KEY: string } {
  const openssl = onPath('openssl') ?? (installByApt('openssl') ? onPath('openssl') : undefined);
  if (openssl === undefined) throw new Error('the tests of TLS need openssl on the path');
  const certificate = join(folder, 'tls.crt');
  const key = join(folder, 'tls.key');
  const words = '-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=localhost'.split(' ');
  execFileSync(
    openssl,
    [
      'req',
      '-x509',
      ...words,
      '-addext',
      'subjectAltName=DNS:localhost,IP:127.0.0.1',
      '-keyout',
      key,
      '-out',
      certificate,
    ],
    { stdio: 'pipe' },
  );
  return { NGINX_CERTIFICATE: certificate, NGINX_CERTIFICATE_KEY: key };
}
