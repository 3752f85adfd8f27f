/** Why a peer cannot be measured on this machine. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Need } from '../peers/peer.ts';
import { nchanModule } from './nchan.ts';

const peers = fileURLToPath(new URL('../peers/', import.meta.url));

export const isOnPath = (command: string, ...args: string[]): boolean =>
  spawnSync(command, args, { stdio: 'ignore', env: { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin` } })
    .error === undefined;

/** Undefined: it is there, or was installed now. */
export async function whyAbsent(need: Need): Promise<string | undefined> {
  switch (need) {
    case 'postgres':
      return undefined;
    case 'nats':
      if (process.env['LEDGERLINE_BENCH_NATS_URL'] !== undefined || isOnPath('nats-server', '--version'))
        return undefined;
      return 'no nats-server on the path, and no LEDGERLINE_BENCH_NATS_URL';
    case 'redis':
      return isOnPath('redis-server', '--version') ? undefined : 'no redis-server on the path';
    case 'nchan':
      return existsSync(nchanModule) && isOnPath('nginx', '-v') ? undefined : `no nginx with ${nchanModule}`;
    case 'packages':
      return installPackages();
  }
}

/** What `npm ci` of the project leaves out: nobody but a measurement needs them. */
async function installPackages(): Promise<string | undefined> {
  if (existsSync(`${peers}node_modules/.package-lock.json`)) return undefined;
  console.error('Installing the peers into bench/peers/node_modules …');
  const npm = spawn('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts'], {
    cwd: peers,
    // Figures go to standard output, so what npm says does not.
    stdio: ['ignore', process.stderr, process.stderr],
  });
  const [code] = (await once(npm, 'exit')) as [number | null];
  return code === 0 ? undefined : 'its packages could not be installed into bench/peers';
}
