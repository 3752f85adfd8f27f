/** A peer that runs in its process, beside what it needs: the handle that every case measures by. */
import { openBroker } from '../services/broker.ts';
import { openDatabase } from '../services/database.ts';
import type { DatabaseOptions } from '../services/database.ts';
import { whyAbsent } from '../services/absent.ts';
import { openRedis } from '../services/redis.ts';
import type { HostRequest, SendRequest, Sent, Usage } from '../peers/host.ts';
import { needs } from '../peers/peer.ts';
import type { Given, Need, Peer } from '../peers/peer.ts';
import { loadPeer } from '../peers/peers.ts';
import type { PeerName } from '../peers/peers.ts';
import { Child } from './child.ts';
import { Connection } from './connection.ts';

export interface Running {
  readonly name: PeerName;
  readonly peer: Peer;
  readonly port: number;
  usage(collect?: boolean): Promise<Usage>;
  /** The longest time, in milliseconds, for which its event loop was away since the last look; 0 at the first. */
  longestBlockMs(): Promise<number>;
  send(request: Omit<SendRequest, 'do'>): Promise<Sent>;
  create(sessions: readonly string[]): Promise<void>;
  stop(): Promise<void>;
}

/** What several peers share, opened for the first that needs it. */
export interface Stage {
  readonly given: Given;
  /** One sentence for each peer that cannot be measured here. */
  readonly leftOut: readonly string[];
  start(name: PeerName): Promise<Running>;
  /** Those that can be measured here, in the order asked for. */
  startAll(names: readonly PeerName[]): Promise<Running[]>;
  close(): Promise<void>;
}

interface Closing {
  close(): Promise<void>;
}

const closingNothing: Closing = { close: () => Promise.resolve() };

export async function openStage(names: readonly PeerName[], options: DatabaseOptions = {}): Promise<Stage> {
  const peers = await Promise.all(names.map(loadPeer));
  const wanted = needs.filter((need) => peers.some((peer) => peer.needs.includes(need)));
  const absent = new Map<Need, string>();
  for (const need of wanted) {
    const reason = await whyAbsent(need);
    if (reason !== undefined) absent.set(need, reason);
  }
  const has = (need: Need): boolean => wanted.includes(need) && !absent.has(need);
  const database = has('postgres') ? await openDatabase(options) : undefined;
  const broker = has('nats') ? await openBroker() : undefined;
  const redis = has('redis') ? await openRedis() : undefined;
  const given = { databaseUrl: database?.url ?? '', natsUrl: broker?.url ?? '', redisUrl: redis?.url ?? '' };
  const reasonsOf = (peer: Peer): string[] => peer.needs.flatMap((need) => absent.get(need) ?? []);
  const running: Running[] = [];

  async function start(name: PeerName): Promise<Running> {
    const one = await startPeer(name, given);
    running.push(one);
    return one;
  }

  return {
    given,
    leftOut: peers.flatMap((peer) => reasonsOf(peer).map((reason) => `${peer.title}: ${reason}`)),
    start,
    async startAll(asked) {
      const started: Running[] = [];
      for (const name of asked) if (reasonsOf(await loadPeer(name)).length === 0) started.push(await start(name));
      return started;
    },
    async close() {
      await Promise.all(running.map((one) => one.stop()));
      for (const service of [redis, broker, database]) await (service ?? closingNothing).close();
    },
  };
}

async function startPeer(name: PeerName, given: Given): Promise<Running> {
  const peer = await loadPeer(name);
  const child = await Child.start<HostRequest>('../peers/host.ts', name);
  const port = await child.ask<number>({ do: 'start', given });
  let stopped: Promise<void> | undefined;
  return {
    name,
    peer,
    port,
    usage: (collect = false) => child.ask<Usage>({ do: 'usage', collect }),
    longestBlockMs: () => child.ask<number>({ do: 'longest block' }),
    send: (request) => child.ask<Sent>({ do: 'send', ...request }),
    async create(sessions) {
      const { create } = peer;
      if (create === undefined) return;
      const connection = await Connection.open(port);
      for (const session of sessions) await connection.do(create(session));
      connection.close();
    },
    stop() {
      stopped ??= child.ask<string>({ do: 'stop' }).then(() => child.end());
      return stopped;
    },
  };
}
