/** A page over a session whose agent journals what it does: a read, an effect that others are told of, a call in doubt. */
import type { BrowserContext, Locator, Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import { localBus } from '../../src/bus/local-bus.ts';
import { createTurns } from '../../src/turn/postgres-turns.ts';
import type { PageStage } from './page-stage.ts';
import { PATIENCE_MS } from './page-stage.ts';
import { takeTurn } from './scripted-agent.ts';
import type { HeldTurn } from './scripted-agent.ts';
import { newSession } from './session-calls.ts';

export interface OpenedWork {
  readonly page: Page;
  readonly session: string;
  readonly context: BrowserContext;
}

export interface OpenWorkOptions {
  readonly session?: string;
  readonly context?: BrowserContext;
  /** Of a reader who may everything, if left out. */
  readonly scope?: string;
}

export const lookup = { tool: 'lookup_order', effect: 'read', args: { order: '7731' } };
const refund = { tool: 'issue_refund', effect: 'transactional', args: { order: '7731', cents: 4_000 } } as const;
export const charge = { tool: 'charge_card', effect: 'once', args: { card: 'c1', cents: 4_000 } };

/** Sees its own session alone, so that what needs attention is this one's. */
export async function openWork(stage: PageStage, options: OpenWorkOptions = {}): Promise<OpenedWork> {
  const session = options.session ?? (await newSession(stage.writer));
  const context = options.context ?? (await stage.newContext());
  const token = await stage.mint({ sessions: [session], ...(options.scope !== undefined && { scope: options.scope }) });
  const page = await stage.openPage({ origin: stage.writer.publicUrl, session, token, context });
  await page.locator('.status-pill[data-state="live"]').waitFor({ timeout: PATIENCE_MS });
  return { page, session, context };
}

export async function ask(stage: PageStage, { page, session }: OpenedWork, words: string): Promise<HeldTurn> {
  const field = page.getByRole('textbox', { name: 'Message', exact: true });
  await field.fill(words);
  await field.press('Enter');
  return takeTurn(stage.writer, session);
}

/** A model that asks for three calls, a lookup, a refund that others are told of, and a charge that is begun. */
export async function work(stage: PageStage, opened: OpenedWork): Promise<HeldTurn> {
  const turn = await ask(stage, opened, 'Refund order 7731, please, and charge the new one.');
  const calls = [lookup, refund, charge].map(({ tool, args }, place) => ({ call: `c${place}`, tool, args }));
  await turn.model(0, calls);
  await turn.start(1, lookup);
  await turn.settle(1, lookup, { result: { order: '7731', cents: 4_000 } });
  await issueRefund(stage, opened.session, turn);
  return turn;
}

/** In the transaction of its journal, as no request can carry it. */
async function issueRefund(stage: PageStage, session: string, { turn, attempt }: HeldTurn): Promise<void> {
  const common = { url: stage.databaseUrl, log: silentLog, metrics: createMetrics(), clock: systemClock };
  const bus = localBus(common);
  const turns = createTurns({ ...common, bus });
  onTestFinished(async () => {
    await turns.service.stop();
    await bus.stop();
  });
  await turns.steps.transactional({ session, turn, attempt }, 2, refund, (_, key) =>
    Promise.resolve({
      result: { refund: key },
      deliveries: [{ topic: 'refund.issued', payload: { order: '7731', cents: 4_000 } }],
    }),
  );
}

/** Its attempt is gone, and nobody can tell what became of the charge. */
export async function putInDoubt(stage: PageStage, opened: OpenedWork): Promise<HeldTurn> {
  const turn = await work(stage, opened);
  await turn.start(3, charge);
  await turn.release();
  const next = await takeTurn(stage.writer, opened.session);
  await next.start(3, charge);
  await opened.page.locator('[data-kind="tool"] [data-state="in_doubt"]').waitFor({ timeout: PATIENCE_MS });
  return next;
}

export const toolItem = (page: Page, tool: string): Locator =>
  page.locator('[data-kind="tool"]').filter({ has: page.locator('.fold-name', { hasText: tool }) });
export const stepRow = (page: Page, step: number): Locator => page.locator(`.work [data-step="${step}"]`);
export const deliveryRow = (page: Page, number: number): Locator => page.locator(`.work [data-delivery="${number}"]`);

/** Presses through to the end, without a result. */
export async function resolveAs(
  place: Locator,
  outcome: 'It happened' | 'It did not happen',
  { isResumed = true }: { readonly isResumed?: boolean } = {},
): Promise<void> {
  await place.getByRole('button', { name: outcome }).click();
  if (!isResumed) await place.getByRole('checkbox', { name: 'Go on with the turn' }).uncheck();
  await place.getByRole('button', { name: 'Confirm' }).click();
}
