/** A real nginx in front of a gateway: Debian's, with its defaults, in a folder and on a port of the test's own. */
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';
import { spawnGuarded } from '../../src/db/guarded-process.ts';
import { freePort } from '../../src/db/postgres-process.ts';
import { installByApt, onPath } from './path-lookup.ts';
import { eventually } from './waits.ts';

export interface Nginx {
  readonly url: string;
  stop(): Promise<void>;
}

/** What a test adds to the defaults, a directive each. */
export interface NginxOptions {
  /** Beside `proxy_pass`. */
  readonly location?: readonly string[];
  readonly server?: readonly string[];
}

export async function startNginx(target: string, options: NginxOptions = {}): Promise<Nginx> {
  const command = findNginx();
  const folder = mkdtempSync(join(inject('runFolder'), 'nginx-'));
  const port = await freePort();
  const file = join(folder, 'nginx.conf');
  writeFileSync(file, configuration(folder, port, target, options));
  const said: string[] = [];
  const nginx = await spawnGuarded({
    command,
    arguments: ['-p', folder, '-c', file, '-e', 'stderr', '-g', 'daemon off;'],
    stopSignal: 'TERM',
    workingFolder: folder,
    onLine: (line) => said.push(line),
  });
  const url = `http://127.0.0.1:${port}`;
  await eventually('nginx serves', async () => !nginx.isRunning || (await fetch(`${url}/healthz`)).ok);
  if (!nginx.isRunning) throw new Error(`nginx did not start:\n${said.join('\n')}`);
  return {
    url,
    async stop() {
      // at once, with open streams; its workers end with it
      nginx.signal('SIGTERM');
      await nginx.ended;
    },
  };
}

export function findNginx(): string {
  const nginx = onPath('nginx') ?? (installByApt('nginx') ? onPath('nginx') : undefined);
  if (nginx === undefined) throw new Error('the tests of proxies need an nginx: put nginx on the path');
  return nginx;
}

/** What is not its default is where it keeps its files: the package's own places belong to root. */
function configuration(folder: string, port: number, target: string, options: NginxOptions): string {
  const { location = [], server = [] } = options;
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => {
    mkdirSync(join(folder, kind));
    return `${kind}_temp_path ${join(folder, kind)};`;
  });
  return `
pid ${join(folder, 'nginx.pid')};
worker_processes 1;
events {}
http {
  access_log off;
  ${places.join('\n  ')}
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass ${target};
      ${location.join('\n      ')}
    }
    ${server.join('\n    ')}
  }
}
`;
}
