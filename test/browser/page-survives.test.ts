/** The page in the middle of an answer: whatever is refreshed, cut, frozen, killed or expires, the screen shows what the model said. */
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import { type Answer, appendEvent, beginAnswer } from '../support/answer.ts';
import type { RunningGateway } from '../support/gateway.ts';
import { type PageStage, PATIENCE_MS, originOf, setPageStage, shows, textOnScreen } from '../support/page-stage.ts';
import { rendererOf } from '../support/renderer.ts';
import { startNats } from '../support/services.ts';
import { newSession } from '../support/session-calls.ts';
import type { TcpProxy } from '../support/tcp-proxy.ts';
import { eventually } from '../support/waits.ts';

let stage: PageStage;
beforeAll(async () => {
  stage = await setPageStage();
});
afterAll(() => stage?.stop());

/** Long enough to open the page and begin, on a slow machine too. */
const TOKEN_SECONDS = 15;

interface Scene {
  readonly page: Page;
  readonly wire: TcpProxy;
  readonly session: string;
  readonly answer: Answer;
  /** Of the page, and to hurt. */
  readonly gateway: RunningGateway;
  /** Takes what is said, whatever happens to the other. */
  readonly writer: RunningGateway;
}

interface SceneOptions {
  readonly gateway?: RunningGateway;
  readonly writer?: RunningGateway;
  readonly token?: string;
  readonly context?: BrowserContext;
}

/** A page that has seen the first third of an answer. */
async function openScene(options: SceneOptions = {}): Promise<Scene> {
  const { writer = stage.writer, gateway = writer, token = await stage.mint(), context } = options;
  const session = await newSession(writer);
  const answer = await beginAnswer(writer, session);
  const wire = await stage.wireTo(gateway.publicUrl);
  const page = await stage.openPage({
    origin: originOf(wire),
    session,
    token,
    ...(context === undefined ? {} : { context }),
  });
  await answer.speakTo(1 / 3);
  await shows(page, answer.spoken);
  return { page, wire, session, answer, gateway, writer };
}

/** After the fault the model speaks to its end. Then the screen shows all of it, once. */
async function expectSurvival(scene: Scene, fault: () => Promise<unknown>): Promise<void> {
  await fault();
  await scene.answer.speakTo(1);
  await expectWhole(scene);
}

async function expectWhole({ page, answer, session, writer }: Scene): Promise<void> {
  await shows(page, answer.text);
  // a repeat would come with what comes after
  await appendEvent(writer, session, 'message.created', { key: 'next', role: 'user', content: 'Is that all of it?' });
  await page.locator(`[aria-label="Ledger"] [data-sequence="${answer.last + 1}"]`).waitFor();
  expect(await textOnScreen(page)).toBe(answer.text);
}

const stateOf = (page: Page): Promise<string | null> =>
  page.locator('.status-pill').getAttribute('data-state', { timeout: PATIENCE_MS });

const isInState = (page: Page, state: string): Promise<unknown> =>
  eventually(`the page is ${state}`, async () => (await stateOf(page)) === state, PATIENCE_MS);

describe('in the middle of an answer', () => {
  test('the page is refreshed', async () => {
    const scene = await openScene();
    await expectSurvival(scene, () => Promise.all([scene.answer.speakTo(2 / 3), scene.page.reload()]));
  });

  test('the network is cut, and comes back', async () => {
    const scene = await openScene();
    await expectSurvival(scene, async () => {
      await Promise.all([scene.answer.speakTo(1 / 2), scene.wire.cut()]);
      await isInState(scene.page, 'waiting');
      await scene.wire.restore();
      await Promise.all([scene.answer.speakTo(2 / 3), isInState(scene.page, 'live')]);
    });
  });

  test('the network is cut again and again', async () => {
    const scene = await openScene();
    await expectSurvival(scene, async () => {
      for (const share of [0.4, 0.45, 0.5, 0.55, 0.6]) {
        await Promise.all([scene.answer.speakTo(share), scene.wire.cut()]);
        await scene.wire.restore();
        await shows(scene.page, scene.answer.spoken);
      }
    });
  });

  test('the network swallows everything, and nobody is told', async () => {
    const context = await stage.newContext();
    // the browser's own clock goes on, and can be sent ahead
    await context.clock.install();
    const scene = await openScene({ context });
    await expectSurvival(scene, async () => {
      scene.wire.clog();
      await scene.answer.speakTo(1 / 2);
      scene.wire.unclog();
      await context.clock.fastForward(2.5 * limits.syncMs + 5_000);
      await shows(scene.page, scene.answer.spoken);
    });
  });

  test('the page is frozen for as long as much is said', async () => {
    const scene = await openScene();
    const renderer = await rendererOf(scene.page.context().browser() as Browser, scene.page);
    await expectSurvival(scene, async () => {
      renderer.freeze();
      await scene.answer.speakTo(2 / 3);
      renderer.thaw();
    });
  });

  test('its gateway is killed and started again', async () => {
    const scene = await openScene({ gateway: await stage.ownGateway(), writer: stage.writer });
    await expectSurvival(scene, async () => {
      await Promise.all([scene.answer.speakTo(1 / 2), scene.gateway.kill()]);
      await isInState(scene.page, 'waiting');
      await Promise.all([scene.answer.speakTo(2 / 3), scene.gateway.restart()]);
    });
  });

  test('its gateway is drained and started again', async () => {
    const scene = await openScene({ gateway: await stage.ownGateway(), writer: stage.writer });
    await expectSurvival(scene, async () => {
      const [, exit] = await Promise.all([scene.answer.speakTo(1 / 2), scene.gateway.terminate()]);
      expect(exit).toBe(0);
      await isInState(scene.page, 'waiting');
      await Promise.all([scene.answer.speakTo(2 / 3), scene.gateway.restart()]);
    });
  });

  test('NATS stops, and goes on', async () => {
    const nats = await startNats();
    onTestFinished(() => nats.stop());
    const [writer, gateway] = await Promise.all([
      stage.ownGateway({ natsUrl: nats.url }),
      stage.ownGateway({ natsUrl: nats.url }),
    ]);
    const scene = await openScene({ writer, gateway });
    await expectSurvival(scene, async () => {
      nats.freeze();
      await scene.answer.speakTo(1 / 2);
      // by the head check, while no broadcast comes
      await shows(scene.page, scene.answer.spoken);
      nats.thaw();
      await scene.answer.speakTo(2 / 3);
    });
  });

  test('the token ends, and the browser has a new one: the stream goes on at the same cursor [ably/docs#837]', async () => {
    const subject = 'maya'; // a renewed token is the same person's
    const scene = await openScene({ token: await stage.mint({ subject, ttlSeconds: TOKEN_SECONDS }) });
    const renewed = await stage.mint({ subject });
    await scene.page.evaluate((token) => localStorage.setItem('ledgerline.token', token), renewed);
    const shown = scene.answer.last;
    const cursors: (string | undefined)[] = [];
    scene.page.on('request', (request) => {
      if (request.url().endsWith('/stream')) cursors.push(request.headers()['last-event-id']);
    });
    await expectSurvival(scene, async () => {
      await scene.answer.speakTo(1 / 2);
      await eventually('it came back', () => cursors.length > 0, PATIENCE_MS);
    });
    expect(Number(cursors[0])).toBeGreaterThanOrEqual(shown);
  });

  test('the token ends, and the reader pastes a new one', async () => {
    const scene = await openScene({ token: await stage.mint({ ttlSeconds: TOKEN_SECONDS }) });
    await expectSurvival(scene, async () => {
      await scene.answer.speakTo(1 / 2);
      const field = scene.page.getByLabel('Token');
      await field.waitFor({ timeout: PATIENCE_MS });
      await field.fill(`Bearer ${await stage.mint()}`);
      await scene.page.getByRole('button', { name: 'Sign in' }).click();
      await scene.answer.speakTo(2 / 3);
    });
  });
});
