/** Ten cuts cost a browser that follows 50,000 events no more than one log. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { followSession } from '../../web-client/src/follow-session.ts';
import { bundleLibrary } from '../support/bundle.ts';
import { append } from '../support/gateway-calls.ts';
import { type PageStage, PATIENCE_MS, originOf, setPageStage } from '../support/page-stage.ts';
import { newSession } from '../support/session-calls.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';
import { eventually } from '../support/waits.ts';
import { range } from '../support/world.ts';

const EVENTS = 50_000;
const PER_APPEND = 250;
const CUTS = 10;
const MOST_OF_ONE_LOG = 1.05;

/** What the bundle's script makes. */
declare const ledgerline: { readonly followSession: typeof followSession };

let stage: PageStage;
beforeAll(async () => {
  stage = await setPageStage();
});
afterAll(() => stage?.stop());

interface Followed {
  readonly count: number;
  readonly last: number;
  readonly isOrdered: boolean;
  readonly faults: number;
  readonly waits: number;
}

/** A page with nothing in it but the library, which follows from the start. */
async function follow(origin: string, session: string): Promise<Page> {
  const page = await (await stage.newContext()).newPage();
  await page.goto(`${origin}/healthz`);
  await page.addScriptTag({ content: await bundleLibrary(['follow-session'], 'ledgerline') });
  await page.evaluate(
    (options) => {
      const seen = { count: 0, last: 0, isOrdered: true, faults: 0, waits: 0 };
      Object.assign(globalThis, { seen });
      ledgerline.followSession({
        ...options,
        url: '',
        share: false,
        onEvents(events) {
          for (const { sequence } of events) {
            seen.isOrdered &&= sequence === seen.last + 1;
            seen.count += 1;
            seen.last = sequence;
          }
        },
        onFault: () => void (seen.faults += 1),
        onStatus: ({ state }) => void (seen.waits += state === 'waiting' ? 1 : 0),
      });
    },
    { session, token: await stage.mint() },
  );
  return page;
}

const seenBy = (page: Page): Promise<Followed> => page.evaluate<Followed>('seen');

const sees = (page: Page, last: number): Promise<unknown> =>
  eventually(`the browser has event ${last}`, async () => (await seenBy(page)).last >= last, PATIENCE_MS);

test(`ten cuts in a session of ${EVENTS} events: the bytes to the browser are at most ${MOST_OF_ONE_LOG} of one log [langgraphjs#2805]`, async () => {
  const session = await newSession(stage.writer);
  let isArmed = false;
  const wire = await startTcpProxy({
    port: Number(new URL(stage.writer.publicUrl).port),
    rewrite: (say) => (chunk) => {
      if (!isArmed) return say(chunk);
      isArmed = false;
      // in the middle of what is being delivered, and of a frame
      say(chunk.subarray(0, chunk.length / 2));
      void wire.cut().then(() => wire.restore());
    },
  });
  onTestFinished(() => wire.stop());
  const page = await follow(originOf(wire), session);
  const payloads = range(1, PER_APPEND).map((index) =>
    JSON.stringify({ message: 'm1', text: `piece ${index} of an answer` }),
  );
  const appends = EVENTS / PER_APPEND;
  const pageBytes = wire.deliveredBytes;
  for (const index of range(1, appends)) {
    isArmed = index % (appends / CUTS) === 0;
    expect((await append(stage.writer, session, ...payloads)).status).toBe(201);
    await sees(page, index * PER_APPEND);
  }
  expect(await seenBy(page)).toEqual({
    count: EVENTS,
    last: EVENTS,
    isOrdered: true,
    faults: 0,
    waits: expect.any(Number),
  });
  expect((await seenBy(page)).waits).toBeGreaterThanOrEqual(CUTS);
  const withCuts = wire.deliveredBytes - pageBytes;

  const other = await stage.wireTo(stage.writer.publicUrl);
  const undisturbed = await follow(originOf(other), session);
  await sees(undisturbed, EVENTS);
  const oneLog = other.deliveredBytes;
  console.log(`${withCuts} bytes with ${CUTS} cuts, ${oneLog} without: ${(withCuts / oneLog).toFixed(4)} of one log`);
  expect(oneLog).toBeGreaterThan(EVENTS * 100);
  expect(withCuts / oneLog).toBeLessThanOrEqual(MOST_OF_ONE_LOG);
});
