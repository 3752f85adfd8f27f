/** Appends over HTTP: in a pace that does not wait for the answers, or as fast as they come. */
import { sleep } from '../../src/base/clock.ts';
import { machineMs, stampedData } from '../peers/payload.ts';
import { Connection } from './connection.ts';
import type { Running } from './stage.ts';

export interface Appended {
  /** From when each append should have left to its answer. */
  readonly tookMs: readonly number[];
}

/** As many connections as may be under way; what finds none free is late from when it should have been sent. */
export async function appendAtPace(
  to: Running,
  sessions: readonly string[],
  options: { readonly perSecond: number; readonly events: number; readonly connections?: number },
): Promise<Appended> {
  const { perSecond, events, connections = 8 } = options;
  const append = to.peer.append!;
  const tookMs: number[] = [];
  const startedMs = machineMs() + 5;
  let next = 0;
  const line = async (): Promise<void> => {
    const connection = await Connection.open(to.port);
    for (let index = next++; index < events; index = next++) {
      const dueMs = startedMs + (index * 1_000) / perSecond;
      const earlyMs = dueMs - machineMs();
      if (earlyMs > 0) await sleep(earlyMs);
      await connection.do(append(sessions[index % sessions.length] ?? '', stampedData(Math.max(dueMs, startedMs))));
      tookMs.push(machineMs() - dueMs);
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: connections }, line));
  return { tookMs };
}

/** Closed loops, one to a connection, each on a session of its own. */
export async function appendInLoops(to: Running, sessions: readonly string[], roundMs: number): Promise<Appended> {
  const append = to.peer.append!;
  const tookMs: number[] = [];
  const connections = await Promise.all(sessions.map(() => Connection.open(to.port)));
  const endMs = machineMs() + roundMs;
  await Promise.all(
    connections.map(async (connection, index) => {
      for (let before = machineMs(); before < endMs;) {
        await connection.do(append(sessions[index] ?? '', stampedData()));
        const now = machineMs();
        tookMs.push(now - before);
        before = now;
      }
      connection.close();
    }),
  );
  return { tookMs };
}
