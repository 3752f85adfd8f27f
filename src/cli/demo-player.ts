/** Plays the demo into a session through the same door as every producer: once at the start, then only while somebody watches. */
import { z } from 'zod';
import { randomId, sleep } from '../base/clock.ts';
import { LedgerlineError, toError } from '../base/errors.ts';
import type { ErrorCode } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Service } from '../base/service.ts';
import { createProducer } from '../producer/producer.ts';
import { request } from './client.ts';
import type { Target } from './client.ts';
import { demoRun } from './demo-run.ts';

export const DEMO_SESSION = 'demo';

/** What is played, and how long it waits between two performances and between two looks at whether somebody watches. */
const onStage = { run: demoRun, pauseMs: 5_000, lookMs: 1_000 };

const passing: ReadonlySet<ErrorCode> = new Set(['unavailable', 'draining']);

const watchedShape = z.object({ room: z.object({ subscribers: z.number() }).nullish() });

/** `target` is the internal listener. A demo that fails is logged; it is never the server's failure. */
export function createDemoPlayer(target: Target, log: Log, { run, pauseMs, lookMs } = onStage): Service {
  const stopping = new AbortController();
  let playing: Promise<void> = Promise.resolve();

  async function perform(): Promise<void> {
    const performance = randomId().slice(0, 8);
    const producer = createProducer({
      url: target.url,
      key: target.credential,
      session: DEMO_SESSION,
      producer: `demo-${performance}`,
      signal: stopping.signal,
    });
    try {
      for (const event of run(performance)) {
        await sleep(event.afterMs, stopping.signal);
        if (stopping.signal.aborted) return;
        await producer.append(event.type, event.data);
      }
    } finally {
      await producer.close();
    }
  }

  async function isWatched(): Promise<boolean> {
    try {
      const look = { method: 'GET', path: `/sessions/${DEMO_SESSION}`, stop: stopping.signal } as const;
      const { room } = watchedShape.parse(await request(target, look));
      return (room?.subscribers ?? 0) > 0;
    } catch (thrown) {
      // Postgres is away for a moment, or the gateway restarts: there is nothing to play into, so nobody is waiting for it.
      if (thrown instanceof LedgerlineError && passing.has(thrown.code)) return false;
      throw thrown;
    }
  }

  async function playOnAndOn(): Promise<void> {
    while (!stopping.signal.aborted) {
      await perform();
      await sleep(pauseMs, stopping.signal);
      while (!stopping.signal.aborted && !(await isWatched())) await sleep(lookMs, stopping.signal);
    }
  }

  function gaveUp(thrown: unknown): void {
    if (!stopping.signal.aborted) log.warn({ err: toError(thrown) }, 'the demo plays no more until the next start');
  }

  return {
    name: 'demo',
    /** The session is there when this resolves, so that whoever is told of it finds it. */
    async start() {
      try {
        const creation = { method: 'POST', path: '/sessions', body: { session: DEMO_SESSION } } as const;
        await request(target, { ...creation, stop: stopping.signal });
        playing = playOnAndOn().catch(gaveUp);
      } catch (thrown) {
        gaveUp(thrown);
      }
    },
    async stop() {
      stopping.abort();
      await playing;
    },
  };
}
