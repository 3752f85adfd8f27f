/** Every peer by the name of its file; loaded when it is asked for. */
import type { Peer } from './peer.ts';

const loaders = {
  ledgerline: () => import('./ledgerline.ts'),
  'ledgerline-room': () => import('./ledgerline-room.ts'),
  'commit-and-raw': () => import('./commit-and-raw.ts'),
  'raw-tcp': () => import('./raw-tcp.ts'),
  'node-http': () => import('./node-http.ts'),
  'empty-post': () => import('./empty-post.ts'),
  'straight-forward': () => import('./straight-forward.ts'),
  'hono-stream-sse': () => import('./hono-stream-sse.ts'),
  'better-sse': () => import('./better-sse.ts'),
  nchan: () => import('./nchan.ts'),
  'durable-memory': () => import('./durable-memory.ts'),
  'durable-file': () => import('./durable-file.ts'),
  'resumable-stream': () => import('./resumable-stream.ts'),
} as const;

export type PeerName = keyof typeof loaders;

export const isPeerName = (name: string): name is PeerName => Object.hasOwn(loaders, name);

export const loadPeer = async (name: PeerName): Promise<Peer> => (await loaders[name]()).peer;
