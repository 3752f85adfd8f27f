/** A server that a measurement starts on a free port, in a folder of its own, and that cannot outlive it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sleep } from '../../src/base/clock.ts';
import { spawnGuarded } from '../../src/db/guarded-process.ts';
import { freePort } from '../../src/db/postgres-process.ts';

export interface PortServer {
  readonly port: number;
  /** The server's own, not that of the shell that guards it. */
  readonly pid: number;
  close(): Promise<void>;
}

export interface PortServerOptions {
  /** Looked for on the path. */
  readonly command: string;
  readonly arguments: (port: number, folder: string) => readonly string[];
}

/** Resolves when it listens; rejects with what it said when it ends instead, or is not installed. */
export async function openPortServer(options: PortServerOptions): Promise<PortServer> {
  const folder = await mkdtemp(join(tmpdir(), `ledgerline-bench-${options.command}-`));
  const port = await freePort();
  const said: string[] = [];
  try {
    const server = await spawnGuarded({
      command: options.command,
      arguments: options.arguments(port, folder),
      stopSignal: 'TERM',
      workingFolder: folder,
      environment: { PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/usr/bin` },
      onLine: (line) => said.push(line),
    });
    while (server.isRunning && !(await listens(port))) await sleep(20);
    if (!server.isRunning) throw new Error(`${options.command} ended:\n${said.slice(-5).join('\n')}`);
    return {
      port,
      pid: server.pid,
      async close() {
        server.release();
        await server.ended;
        await rm(folder, { recursive: true, force: true });
      },
    };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const answer = (isThere: boolean): void => {
      socket.destroy();
      resolve(isThere);
    };
    socket.once('connect', () => answer(true)).once('error', () => answer(false));
  });
}
