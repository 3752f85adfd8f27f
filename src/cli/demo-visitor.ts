/** The demo's visitor: says what the story has it say through the same door as everybody, and leaves when somebody else speaks. */
import { z } from 'zod';
import { randomId, sleep } from '../base/clock.ts';
import { LedgerlineError, toError } from '../base/errors.ts';
import type { ErrorCode } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Service } from '../base/service.ts';
import { turnStates } from '../event/turn-state.ts';
import { request } from './client.ts';
import type { Asked } from './client.ts';
import { DEMO_SESSION, VISITOR, messageKey, storyApproval } from './demo-cast.ts';
import { demoScript } from './demo-script.ts';

export interface VisitorOptions {
  /** Of the public listener. */
  readonly url: string;
  /** Of the visitor, and of the colleague who decides when nobody else does. */
  readonly tokens: { readonly visitor: string; readonly colleague: string };
  readonly log: Log;
  readonly pace?: VisitorPace;
}

export interface VisitorPace {
  /** Between two performances. */
  readonly pauseMs: number;
  /** Between two looks at the session. */
  readonly lookMs: number;
  /** Before it writes. */
  readonly thinkMs: number;
  /** So long a question is left to whoever is at the page. */
  readonly decideMs: number;
}

const onStage: VisitorPace = { pauseMs: 5_000, lookMs: 1_000, thinkMs: 1_000, decideMs: 12_000 };

const ROOT = `/sessions/${DEMO_SESSION}`;

const createdShape = z.object({ head: z.number() });
const lookShape = z.object({
  turn: z.object({ state: z.enum(turnStates), turn: z.string().nullable() }),
  room: z.object({ subscribers: z.number() }).nullable(),
});
const pageShape = z.object({
  events: z.array(z.object({ type: z.string(), data: z.unknown() })),
  last: z.number().nullable(),
});

/** Performs once at the start, then only while somebody watches. A visit that fails is logged; it is never the server's failure. */
export function createDemoVisitor({ url, tokens, log, pace = onStage }: VisitorOptions): Service {
  const stopping = new AbortController();
  const { signal } = stopping;
  let visiting: Promise<void> = Promise.resolve();
  /** All before it was read, or was there before this process. */
  let cursor = 0;

  /** Postgres may be away for a moment, and the gateway restart: then it asks again. */
  async function ask(credential: string, asked: Omit<Asked, 'stop'>): Promise<unknown> {
    for (;;) {
      try {
        return await request({ url, credential }, { ...asked, stop: signal });
      } catch (thrown) {
        if (signal.aborted || !isOneOf(thrown, passing)) throw thrown;
      }
      await sleep(pace.lookMs, signal);
    }
  }

  const look = async () => lookShape.parse(await ask(tokens.visitor, { method: 'GET', path: ROOT }));

  /** Until no turn is under way, whoever asked for it. */
  async function turnsAreOver(): Promise<void> {
    let waitedMs = 0;
    let approved: string | undefined;
    for (;;) {
      const { state, turn } = (await look()).turn;
      if (state === 'idle') return;
      waitedMs = state === 'waiting' ? waitedMs + pace.lookMs : 0;
      if (turn !== null && turn !== approved && waitedMs >= pace.decideMs) {
        await approve(turn);
        approved = turn;
      }
      await sleep(pace.lookMs, signal);
    }
  }

  async function approve(turn: string): Promise<void> {
    const body = { approval: storyApproval(turn), decision: 'approved' };
    try {
      await ask(tokens.colleague, { method: 'POST', path: `${ROOT}/decisions`, body });
    } catch (thrown) {
      // Somebody was faster; or it is a person's own question, and theirs to decide.
      if (!isOneOf(thrown, decided)) throw thrown;
    }
  }

  async function isAlone(): Promise<boolean> {
    for (;;) {
      const path = `${ROOT}/events?after=${cursor}&limit=1000`;
      const { events, last } = pageShape.parse(await ask(tokens.visitor, { method: 'GET', path }));
      if (events.some(isOfAnother)) return false;
      if (last === null) return true;
      cursor = last;
    }
  }

  /** False when somebody else's turn has begun meanwhile. */
  async function say(key: string, content: string): Promise<boolean> {
    try {
      await ask(tokens.visitor, { method: 'POST', path: `${ROOT}/messages`, body: { key, content, onBusy: 'reject' } });
      return true;
    } catch (thrown) {
      if (isOneOf(thrown, busy)) return false;
      throw thrown;
    }
  }

  /** Whether the floor is still the visitor's. */
  async function outlast(): Promise<boolean> {
    await turnsAreOver();
    return isAlone();
  }

  async function perform(): Promise<boolean> {
    const performance = randomId().slice(0, 8);
    for (const [index, { question }] of demoScript.entries()) {
      do {
        await sleep(pace.thinkMs, signal);
        if (!(await outlast())) return false;
      } while (!(await say(messageKey(performance, index + 1), question)));
    }
    return outlast();
  }

  async function visit(): Promise<void> {
    // What an earlier process began goes on by itself: nothing is said on top of it.
    let isWelcome = (await look()).turn.state === 'idle' ? await perform() : await outlast();
    while (isWelcome) {
      await sleep(pace.pauseMs, signal);
      while (((await look()).room?.subscribers ?? 0) === 0) await sleep(pace.lookMs, signal);
      isWelcome = await perform();
    }
    log.info('somebody else speaks in the demo, and the visitor writes no more until the next start');
  }

  function gaveUp(thrown: unknown): void {
    if (!signal.aborted) log.warn({ err: toError(thrown) }, 'the demo plays no more until the next start');
  }

  return {
    name: 'demo',
    /** The session is there when this resolves, so that whoever is told of it finds it. */
    async start() {
      try {
        const creation = { method: 'POST', path: '/sessions', body: { session: DEMO_SESSION }, stop: signal } as const;
        cursor = createdShape.parse(await request({ url, credential: tokens.visitor }, creation)).head;
        visiting = visit().catch(gaveUp);
      } catch (thrown) {
        gaveUp(thrown);
      }
    },
    async stop() {
      stopping.abort();
      await visiting;
    },
  };
}

const passing: ReadonlySet<ErrorCode> = new Set(['unavailable', 'draining', 'session_busy']);
const decided: ReadonlySet<ErrorCode> = new Set(['approval_decided', 'approval_unknown']);
const busy: ReadonlySet<ErrorCode> = new Set(['turn_busy']);

const isOneOf = (thrown: unknown, codes: ReadonlySet<ErrorCode>): boolean =>
  thrown instanceof LedgerlineError && codes.has(thrown.code);

function isOfAnother({ type, data }: z.infer<typeof pageShape>['events'][number]): boolean {
  if (type !== 'message.created') return false;
  return typeof data !== 'object' || data === null || !('by' in data) || data.by !== VISITOR;
}
