/** POST /internal/turns/claim: waits for turns on a worker's behalf, and takes none that nobody would get. */
import { setMaxListeners } from 'node:events';
import { z } from 'zod';
import { LedgerlineError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import { detach } from '../base/service.ts';
import { isGone } from '../sse/writer.ts';
import { policies } from '../turn/turns.ts';
import type { Turns } from '../turn/turns.ts';
import { workerShape } from './auth.ts';
import { shapedBody } from './body.ts';
import type { ReadJsonBody } from './body.ts';
import type { AppContext } from './context.ts';
import type { GateHandler } from './door.ts';
import { json } from './openapi/operation.ts';
import type { Operation } from './openapi/operation.ts';
import { claimedText } from './turn-json.ts';
import { claimedTurnsShape } from './turn-shape.ts';

/** Longer than any clock would be trusted with, and a timer of Node still holds it. */
const LONGEST_TURN_MS = 24 * 86_400_000;

const claimShape = z
  .strictObject({
    worker: workerShape.describe('Its name, for people to read.'),
    limit: z.int().min(1).max(limits.claimTurns).default(1),
    waitMs: z.int().min(0).max(limits.claimWaitMs).default(0),
    policy: z.enum(policies).default('retry').describe('Whether a lost attempt is followed by another.'),
    maxAttempts: z.int().min(1).max(limits.totalAttempts).default(limits.maxAttempts),
    turnMs: z.int().min(1).max(LONGEST_TURN_MS).default(limits.turnDeadlineMs),
  })
  .meta({ id: 'Claim', examples: [{ worker: 'agent-host-3', limit: 4, waitMs: 20_000 }] });

export const claimOperation = {
  id: 'claimTurns',
  group: 'Workers',
  summary: 'Claim turns',
  description:
    'Waits for them as long as it is told to. Different sessions run side by side; one session never has two attempts.',
  scope: 'write',
  body: { contents: json(claimShape) },
  answers: { 200: { description: 'The turns; none when nothing came in time.', contents: json(claimedTurnsShape) } },
  refusals: ['draining'],
} as const satisfies Operation;

export interface ClaimOptions {
  readonly turns: Pick<Turns, 'claim' | 'release'>;
  /** Aborts when this server begins to go away. */
  readonly draining: AbortSignal;
  readonly readJsonBody: ReadJsonBody;
  readonly log: Log;
}

export function claimRoute({ turns, draining, readJsonBody, log }: ClaimOptions): GateHandler {
  setMaxListeners(0, draining); // each claim that waits
  return async (c) => {
    const request = shapedBody(claimShape, await readJsonBody(c, 'bodyBytes'));
    if (draining.aborted) throw new LedgerlineError('draining', 'this server is draining; claim from another');
    const claimed = await whileWanted(c, draining, (signal) => turns.claim(request, signal));
    if (isGone(c.env.outgoing))
      for (const turn of claimed) detach(turns.release(turn), log, 'a turn was not given back');
    return c.body(`{"turns":[${claimed.map(claimedText).join(',')}]}`, 200, { 'Content-Type': 'application/json' });
  };
}

/** By hand, because `AbortSignal.any` lets what waited hang on the signal that lives longest. */
async function whileWanted<T>(
  c: AppContext,
  draining: AbortSignal,
  wait: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { outgoing } = c.env;
  const unwanted = new AbortController();
  const end = (): void => unwanted.abort();
  outgoing.once('close', end);
  draining.addEventListener('abort', end, { once: true });
  // Gone while the body was read: its close was emitted already.
  if (isGone(outgoing)) end();
  try {
    return await wait(unwanted.signal);
  } finally {
    outgoing.off('close', end);
    draining.removeEventListener('abort', end);
  }
}
