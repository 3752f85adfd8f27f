/**
 * An append over HTTP: how many a second, and the server's CPU for each request.
 *
 * Method. Each server runs in a process of its own; this process has 64 kept connections, each a closed loop on a session of its own
 * that sends one event of about 165 bytes a request. CPU is that of the server's process alone (Postgres, NATS and the client are not
 * in it). The floor is the same listener and framework that answers an empty POST without looking at it. Each server first answers
 * 20,000 requests unmeasured, or as many as it does in some seconds: before, what V8 spends on compiling is a third of the CPU of one
 * that answers a thousand a second, and nothing of one that answers twenty thousand. Then rounds alternate; a figure is the median
 * of its rounds. Beside them, for what is stored and acknowledged without HTTP: `pgbench`
 * with one prepared INSERT a transaction on 64 connections, and 64 publishes under way to a JetStream in files.
 *
 * What is durable when it answers: Ledgerline and the straightforward design by Postgres's fsync, Durable Streams in files by its own
 * fsync of each append; in memory nothing is. JetStream acknowledges before it syncs (every two minutes by default).
 */
import { appendInLoops } from '../load/pace.ts';
import { openStage } from '../load/stage.ts';
import type { Running } from '../load/stage.ts';
import type { PeerName } from '../peers/peers.ts';
import { countTo, median, progressOfRound, quantile, rounded, spread } from '../report.ts';
import type { Options, Report, Row } from '../report.ts';
import { bareInserts, hasPgbench, jetStreamPublishes } from '../services/floors.ts';

const CONNECTIONS = 64;
const WARM_REQUESTS = 20_000;
const names: readonly PeerName[] = ['ledgerline', 'empty-post', 'straight-forward', 'durable-file', 'durable-memory'];

interface Round {
  readonly perSecond: number;
  readonly micros: number;
  readonly p50: number;
  readonly p99: number;
}

/** Until it has answered enough, or its time is over. */
async function warm(peer: Running, sessions: readonly string[], mostMs: number): Promise<void> {
  const sliceMs = 1_000;
  let answered = 0;
  for (let ms = 0; ms < mostMs && answered < WARM_REQUESTS; ms += sliceMs) {
    answered += (await appendInLoops(peer, sessions, sliceMs)).tookMs.length;
  }
}

export async function run({ quick }: Options): Promise<Report> {
  const [rounds, roundMs, warmMs] = quick ? [3, 1_500, 6_000] : [7, 4_000, 16_000];
  const stage = await openStage(names);
  try {
    const sessionsOf = (name: PeerName) => countTo(CONNECTIONS).map((number) => `append-${name}-${number}`);
    const seen = new Map<PeerName, Round[]>();
    const peers = await stage.startAll(names);
    for (const peer of peers) await peer.create(sessionsOf(peer.name));
    progressOfRound(-1, rounds);
    for (const peer of peers) await warm(peer, sessionsOf(peer.name), warmMs);
    for (let round = 0; round < rounds; round += 1) {
      progressOfRound(round, rounds);
      for (const peer of peers) {
        const before = await peer.usage();
        const { tookMs } = await appendInLoops(peer, sessionsOf(peer.name), roundMs);
        const after = await peer.usage();
        const figures = {
          perSecond: (tookMs.length / roundMs) * 1_000,
          micros: (after.cpuMicros - before.cpuMicros) / tookMs.length,
          p50: quantile(tookMs, 0.5),
          p99: quantile(tookMs, 0.99),
        };
        seen.set(peer.name, [...(seen.get(peer.name) ?? []), figures]);
      }
    }
    const figure = (name: PeerName, what: keyof Round): number =>
      median((seen.get(name) ?? []).map((round) => round[what]));
    const rows: Row[] = peers.map(({ name, peer }) => ({
      server: peer.title,
      'requests/s': Math.round(figure(name, 'perSecond')),
      'least and most': spread((seen.get(name) ?? []).map(({ perSecond }) => Math.round(perSecond))),
      'CPU µs a request': Math.round(figure(name, 'micros')),
      'times the empty POST': rounded(figure(name, 'micros') / figure('empty-post', 'micros')),
      'p50 ms': rounded(figure(name, 'p50')),
      'p99 ms': rounded(figure(name, 'p99')),
    }));
    if (hasPgbench()) {
      const perSecond = await bareInserts(stage.given.databaseUrl, CONNECTIONS, quick ? 50 : 300);
      rows.push({ server: 'pgbench, one INSERT a transaction (floor, no HTTP)', 'requests/s': Math.round(perSecond) });
    }
    const published = await jetStreamPublishes(stage.given.natsUrl, CONNECTIONS, roundMs);
    rows.push({ server: 'JetStream publish (floor, no HTTP)', 'requests/s': Math.round(published) });
    return {
      name: 'An append over HTTP',
      method:
        '64 kept connections, one event a request, each connection on a session of its own; CPU of the server’s process.',
      leftOut: [...stage.leftOut, ...(hasPgbench() ? [] : ['pgbench: it is not on the path'])],
      rows,
      targets: [
        {
          what: 'CPU a request: at most 1.6 times the empty POST',
          seen: figure('ledgerline', 'micros') / figure('empty-post', 'micros'),
          atMost: 1.6,
        },
        ...(seen.has('durable-file')
          ? [
              {
                what: 'requests/s: at least 10 times Durable Streams in files',
                seen: figure('ledgerline', 'perSecond') / figure('durable-file', 'perSecond'),
                atLeast: 10,
              },
            ]
          : []),
      ],
    };
  } finally {
    await stage.close();
  }
}
