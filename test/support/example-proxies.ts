/** The proxies of docs/examples with a gateway behind them: their files as they are, but for the addresses. */
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';
import { spawnGuarded } from '../../src/db/guarded-process.ts';
import { freePort } from '../../src/db/postgres-process.ts';
import { readExample } from './example-files.ts';
import { installByApt, onPath } from './path-lookup.ts';
import { eventually } from './waits.ts';

export interface ExampleProxy {
  readonly url: string;
  stop(): Promise<void>;
}

export async function startProxy(name: 'nginx.conf' | 'Caddyfile', target: string): Promise<ExampleProxy> {
  const folder = mkdtempSync(join(inject('runFolder'), 'proxy-'));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const file = join(folder, name);
  writeFileSync(file, name === 'Caddyfile' ? withoutAdmin(readExample(name)) : aroundServer(folder, port, target));
  const words =
    name === 'Caddyfile'
      ? ['run', '--config', file, '--adapter', 'caddyfile']
      : ['-p', folder, '-c', file, '-e', 'stderr', '-g', 'daemon off;'];
  const lines: string[] = [];
  const proxy = await spawnGuarded({
    command: installed(name === 'Caddyfile' ? 'caddy' : 'nginx'),
    arguments: words,
    stopSignal: 'TERM',
    workingFolder: folder,
    environment: { HOME: folder, SITE: url, LEDGERLINE_UPSTREAM: new URL(target).host },
    onLine: (line) => lines.push(line),
  });
  await eventually('the proxy serves', async () => !proxy.isRunning || (await fetch(`${url}/healthz`)).ok);
  if (!proxy.isRunning) throw new Error(`${name} is of no use:\n${lines.join('\n')}`);
  return {
    url,
    async stop() {
      proxy.signal('SIGTERM');
      await proxy.ended;
    },
  };
}

function installed(command: string): string {
  const path = onPath(command) ?? (installByApt(command) ? onPath(command) : undefined);
  if (path === undefined) throw new Error(`the tests of proxies need ${command}: put it on the path`);
  return path;
}

/** Its interface for changes has one port for all of the machine. */
const withoutAdmin = (text: string): string => `{\n\tadmin off\n}\n${text}`;

/** The package's own places belong to root. */
function aroundServer(folder: string, port: number, target: string): string {
  const server = readExample('nginx.conf')
    .replace('listen 8000;', `listen 127.0.0.1:${port};`)
    .replaceAll('http://127.0.0.1:8080', target);
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => {
    mkdirSync(join(folder, kind));
    return `${kind}_temp_path ${join(folder, kind)};`;
  });
  const main = `pid ${join(folder, 'nginx.pid')};\nworker_processes 1;\nevents {}`;
  return `${main}\nhttp {\naccess_log off;\n${places.join('\n')}\n${server}}\n`;
}
