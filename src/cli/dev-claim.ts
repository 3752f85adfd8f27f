/** One development server a data folder: holds a local socket that the kernel lets go of however its process ends. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { realpath, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import type { Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Claim {
  release(): void;
}

/**
 * Undefined when another process has the folder. A file with a process id in it would lie after a kill, the more so in
 * containers, where ids repeat. The socket lies in the system's temporary folder under a hash of the data folder's
 * path: not every file system can hold one, and its own path may have no more than about 100 bytes.
 */
export async function claimDataFolder(data: string): Promise<Claim | undefined> {
  const name = createHash('sha256')
    .update(await realpath(data))
    .digest('hex')
    .slice(0, 24);
  const path = join(tmpdir(), `ledgerline-${name}.sock`);
  const server = (await listen(path)) ?? (await replace(path));
  if (server === undefined) return undefined;
  server.unref();
  return { release: () => void server.close() };
}

/** The socket of a process that was killed stays behind as a file that nobody answers. */
async function replace(path: string): Promise<Server | undefined> {
  if (await isAnswered(path)) return undefined;
  await rm(path, { force: true });
  return listen(path);
}

async function listen(path: string): Promise<Server | undefined> {
  const server = createServer((socket) => socket.destroy());
  try {
    server.listen(path);
    await once(server, 'listening');
    return server;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return undefined;
    throw error;
  }
}

async function isAnswered(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Not allowed to ask means that somebody else's process has it.
    return code !== 'ECONNREFUSED' && code !== 'ENOENT';
  } finally {
    socket.destroy();
  }
}
