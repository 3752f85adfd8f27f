/**
 * Everybody comes back at once, to one session and to five hundred.
 *
 * Method. Each round has a gateway that nobody is connected to, in a fresh process. All readers connect at the same moment, each five events behind
 * the head of its session, and a round is over when every one of them has been told `connected`. The first wave is counted: the statements that
 * Postgres ran, the longest time for which the gateway's event loop was away, and how
 * often a reader was told to come back later, which it does. The second wave comes to sessions that were not
 * open yet, while 50 events a second are appended to another session; their time from when they should have left to the answer is set
 * beside that of as many appends before the wave.
 */
import { sleep } from '../../src/base/clock.ts';
import { fill, withLedger } from '../load/history.ts';
import { appendAtPace } from '../load/pace.ts';
import { Readers } from '../load/readers.ts';
import { openStage } from '../load/stage.ts';
import type { Running, Stage } from '../load/stage.ts';
import { countTo, median, progress, quantile, rounded, spread } from '../report.ts';
import type { Options, Report, Row, Target } from '../report.ts';
import { statementsSoFar } from '../services/database.ts';

const HISTORY = 100;
const BEHIND = 5;
const ELSEWHERE = 'elsewhere';

interface Wave {
  readonly statements: number;
  readonly tookMs: number;
  readonly loopMs: number;
  readonly turnedAway: number;
  readonly quietP99: number;
  readonly stormP99: number;
}

function comingBack(gateway: Running, sessions: readonly string[], readers: number) {
  return countTo(readers).map((number) => {
    const session = sessions[number % sessions.length] ?? '';
    const { headers = {} } = gateway.peer.follow(session);
    return {
      method: 'GET',
      path: `/sessions/${session}/stream`,
      headers: { ...headers, 'Last-Event-ID': String(HISTORY - BEHIND) },
    } as const;
  });
}

async function wave(stage: Stage, counted: readonly string[], loaded: readonly string[], count: number): Promise<Wave> {
  const gateway = await stage.start('ledgerline');
  const readers = await Readers.start();
  const { databaseUrl } = stage.given;
  const all = { until: 'connected', side: count } as const;
  try {
    // The pools' connections are there, as they are in a server that runs.
    await appendAtPace(gateway, [ELSEWHERE], { perSecond: 50, events: 20 });
    const before = await statementsSoFar(databaseUrl);
    await gateway.longestBlockMs();
    const startedMs = performance.now();
    await readers.open(gateway.port, comingBack(gateway, counted, count), all);
    const tookMs = performance.now() - startedMs;
    const loopMs = await gateway.longestBlockMs();
    const statements = (await statementsSoFar(databaseUrl)) - before - 1;
    const { turnedAway } = await readers.report();
    await readers.cut();
    await sleep(500);

    const paced = () => appendAtPace(gateway, [ELSEWHERE], { perSecond: 50, events: 100 });
    const quiet = await paced();
    const storm = readers.open(gateway.port, comingBack(gateway, loaded, count), all);
    const [stormy] = await Promise.all([paced(), storm]);
    return {
      statements,
      tookMs,
      loopMs,
      turnedAway,
      quietP99: quantile(quiet.tookMs, 0.99),
      stormP99: quantile(stormy.tookMs, 0.99),
    };
  } finally {
    readers.end();
    await gateway.stop();
  }
}

export async function run({ quick }: Options): Promise<Report> {
  const [count, rounds] = quick ? [1_000, 3] : [5_000, 5];
  const stage = await openStage(['ledgerline'], { isCounted: true });
  try {
    const rows: Row[] = [];
    const targets: Target[] = [];
    for (const [sessionCount, bound] of [
      [1, 20],
      [500, 1_500],
    ] as const) {
      const [counted, loaded] = ['a', 'b'].map((side) =>
        countTo(sessionCount).map((n) => `back-${sessionCount}-${side}-${n}`),
      );
      await withLedger(stage.given.databaseUrl, (ledger) =>
        fill(ledger, [...(counted ?? []), ...(loaded ?? []), ELSEWHERE], HISTORY),
      );
      const waves: Wave[] = [];
      for (let round = 0; round < rounds; round += 1) {
        progress(`${count} readers of ${sessionCount} sessions, round ${round + 1} of ${rounds}`);
        waves.push(await wave(stage, counted ?? [], loaded ?? [], count));
      }
      const of = (what: keyof Wave): number => median(waves.map((each) => each[what]));
      const worstMs = Math.max(...waves.map(({ loopMs }) => loopMs));
      rows.push({
        readers: count,
        sessions: sessionCount,
        statements: of('statements'),
        'all back after ms': Math.round(of('tookMs')),
        'longest block ms': rounded(of('loopMs')),
        'blocks, least and most': spread(waves.map(({ loopMs }) => loopMs)),
        'told to come later': of('turnedAway'),
        'append p99 ms before': rounded(of('quietP99')),
        'append p99 ms meanwhile': rounded(of('stormP99')),
      });
      targets.push(
        { what: `${sessionCount} sessions: at most ${bound} statements`, seen: of('statements'), atMost: bound },
        { what: `${sessionCount} sessions: no block of the event loop above 50 ms`, seen: worstMs, atMost: 50 },
      );
    }
    return {
      name: 'Everybody comes back at once',
      method:
        'A gateway without readers; all connect at the same moment, five events behind. Statements are Postgres’s count of the first wave; appends to another session are timed before and during a second one.',
      rows,
      targets,
    };
  } finally {
    await stage.close();
  }
}
