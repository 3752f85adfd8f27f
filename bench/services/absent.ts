/** Why a peer cannot be measured on this machine. */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { needs } from '../peers/peer.ts';
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

const notInstalled = 'its packages could not be installed into bench/peers';
/** Set for those who come after one who has tried: a registry that is out of reach is waited for once. */
const TRIED = 'LEDGERLINE_BENCH_PEERS_TRIED';

/** What `npm ci` of the project leaves out: nobody but a measurement needs them. */
async function installPackages(): Promise<string | undefined> {
  if (existsSync(`${peers}node_modules/.package-lock.json`)) return undefined;
  if (process.env[TRIED] !== undefined) return notInstalled;
  process.env[TRIED] = 'yes';
  console.error('Installing the peers into bench/peers/node_modules …');
  const npm = spawn('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts'], {
    cwd: peers,
    // Figures go to standard output, so what npm says does not.
    stdio: ['ignore', process.stderr, process.stderr],
  });
  const code = await new Promise((resolve) => {
    npm.once('error', () => resolve(undefined)).once('exit', resolve);
  });
  return code === 0 ? undefined : notInstalled;
}

/** What this machine lacks, with what is wanted for it, one sentence each. */
export async function absences(): Promise<string[]> {
  const sentences: string[] = [];
  for (const need of needs) {
    const reason = await whyAbsent(need);
    if (reason !== undefined) sentences.push(`${need}: ${reason}`);
  }
  return sentences;
}
