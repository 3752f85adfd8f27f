/** A session of 50,000 events on the page: opened at its end, read backwards, searched, and followed without growing. */
import type { CDPSession, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { appendEvents } from '../support/answer.ts';
import { type PageStage, PATIENCE_MS, addressOf, originOf, setPageStage } from '../support/page-stage.ts';
import { newSession } from '../support/session-calls.ts';
import { eventually } from '../support/waits.ts';
import { range } from '../support/world.ts';

const EVENTS = 50_000;
const PER_APPEND = 500;
/** A message has ten deltas, so that there is much to lay out. */
const PER_MESSAGE = 10;
const NEEDLE_AT = 41_234;

const eventOf = (sequence: number): { type: string; data: object } => ({
  type: 'text.delta',
  data: {
    message: `m-${Math.ceil(sequence / PER_MESSAGE)}`,
    text: sequence === NEEDLE_AT ? ' a needle in it, ' : ` piece ${sequence} of a long talk,`,
  },
});

async function appendRange(session: string, first: number, last: number): Promise<void> {
  for (let from = first; from <= last; from += PER_APPEND) {
    await appendEvents(stage.writer, session, range(from, Math.min(last, from + PER_APPEND - 1)).map(eventOf));
  }
}

let stage: PageStage;
/** Nothing is appended to it. */
let long: string;
beforeAll(async () => {
  stage = await setPageStage();
  long = await newSession(stage.writer);
  await appendRange(long, 1, EVENTS);
});
afterAll(() => stage?.stop());

const open = async (session: string, origin = stage.writer.publicUrl): Promise<Page> =>
  stage.openPage({ origin, session, token: await stage.mint() });

const rowOf = (page: Page, attribute: string) => page.locator(`[role="feed"] article[${attribute}]`);

const showsLast = (page: Page, last: number): Promise<void> =>
  rowOf(page, `data-last="${last}"`).waitFor({ timeout: PATIENCE_MS });

/** The first sequence that is loaded at the top of what is rendered. */
const firstRow = (page: Page): Promise<number> =>
  page.locator('[role="feed"] article').first().getAttribute('data-first').then(Number);

const scrollTo = (page: Page, top: number): Promise<void> =>
  page.getByRole('feed').evaluate((feed, to) => {
    feed.scrollTop = to;
  }, top);

describe('it opens at the end', () => {
  test('at the cost of a short one', async () => {
    const short = await newSession(stage.writer);
    await appendRange(short, 1, 300);
    // so that the program is compiled when it counts
    await costOf(short, 300);
    const [ofShort, ofLong] = [await costOf(short, 300), await costOf(long, EVENTS)];
    const words = ({ ms, cpuMs }: Cost): string =>
      `${Math.round(ms)} ms, of which the page works ${Math.round(cpuMs)} ms`;
    console.log(`to the newest screen of 300 events: ${words(ofShort)}; of ${EVENTS}: ${words(ofLong)}`);
    expect(ofLong.bytes).toBeLessThan(1.2 * ofShort.bytes);
    expect(ofLong.rows).toBeLessThan(60);
    expect(ofLong.cpuMs).toBeLessThan(2 * ofShort.cpuMs);
  });
});

interface Cost {
  readonly ms: number;
  /** Of the page's main thread. */
  readonly cpuMs: number;
  readonly bytes: number;
  /** That are rendered. */
  readonly rows: number;
}

async function costOf(session: string, last: number): Promise<Cost> {
  const wire = await stage.wireTo(stage.writer.publicUrl);
  const address = addressOf({ origin: originOf(wire), session, token: await stage.mint() });
  const page = await (await stage.newContext()).newPage();
  const protocol = await page.context().newCDPSession(page);
  await protocol.send('Performance.enable', { timeDomain: 'threadTicks' });
  const from = performance.now();
  await page.goto(address);
  await showsLast(page, last);
  const ms = performance.now() - from;
  const cpuMs = (await metricOf(protocol, 'TaskDuration')) * 1_000;
  const rows = await page.locator('[role="feed"] article').count();
  const bytes = wire.deliveredBytes;
  await page.close();
  return { ms, cpuMs, bytes, rows };
}

async function metricOf(protocol: CDPSession, metric: string): Promise<number> {
  const { metrics } = await protocol.send('Performance.getMetrics');
  return metrics.find(({ name }) => name === metric)?.value ?? Number.NaN;
}

describe('the reader', () => {
  test('scrolls up, and what is in sight stays where it is while older events come', async () => {
    const page = await open(long);
    await showsLast(page, EVENTS);
    const height = (): Promise<number> => page.getByRole('feed').evaluate((feed) => feed.scrollHeight);
    const before = await height();
    // the first row that lies in the view, and where
    const anchorOf = (): Promise<{ first: string; top: number }> =>
      page.getByRole('feed').evaluate((feed) => {
        const edge = feed.getBoundingClientRect().top;
        const rows = Array.from(feed.querySelectorAll('article'));
        const row = rows
          .filter((one) => one.getBoundingClientRect().bottom > edge + 80)
          .toSorted((one, other) => one.getBoundingClientRect().top - other.getBoundingClientRect().top)[0];
        return { first: row?.dataset['first'] ?? '', top: row?.getBoundingClientRect().top ?? Number.NaN };
      });
    await page.getByRole('feed').hover();
    await scrollTo(page, 400);
    const anchor = await anchorOf();
    await eventually('older events are there', async () => (await height()) > before * 1.5, PATIENCE_MS);
    const row = rowOf(page, `data-first="${anchor.first}"`);
    await eventually(
      'the row is where it was',
      async () => {
        const box = await row.boundingBox();
        return box !== null && Math.abs(box.y - anchor.top) <= 2;
      },
      PATIENCE_MS,
    );
  });

  test('is not moved by what comes while reading further up, and is told how much it is', async () => {
    const session = await newSession(stage.writer);
    await appendRange(session, 1, 1_000);
    const page = await open(session);
    await showsLast(page, 1_000);
    await scrollTo(page, 1_500);
    const jump = page.getByRole('button', { name: 'Jump to latest' });
    await jump.waitFor();
    const top = (): Promise<number> => page.getByRole('feed').evaluate((feed) => feed.scrollTop);
    const [first, place] = [await firstRow(page), await top()];
    await appendRange(session, 1_001, 1_100);
    await eventually('it is told', async () => (await jump.textContent())?.includes('100 new') ?? false, PATIENCE_MS);
    expect([await firstRow(page), await top()]).toEqual([first, place]);
    await jump.click();
    await showsLast(page, 1_100);
  });

  test('jumps to a sequence far back', async () => {
    const page = await open(long);
    await showsLast(page, EVENTS);
    await page.keyboard.press('g');
    await page.keyboard.type('25,005');
    await page.keyboard.press('Enter');
    const row = rowOf(page, 'data-first="25001"');
    await row.waitFor({ timeout: PATIENCE_MS });
    await eventually('it is in sight', () => row.isVisible(), PATIENCE_MS);
    const [box, feed] = [await row.boundingBox(), await page.getByRole('feed').boundingBox()];
    expect(box?.y).toBeGreaterThanOrEqual(feed?.y ?? Infinity);
    expect(box?.y).toBeLessThan((feed?.y ?? 0) + (feed?.height ?? 0) / 2);
    expect(page.url()).toContain('at=25005');
    expect(await page.locator('[role="feed"] article').count()).toBeLessThan(60);
  });

  test('finds a word that is not loaded yet', async () => {
    const page = await open(long);
    await showsLast(page, EVENTS);
    await page.keyboard.press('/');
    await page.keyboard.type('a needle in');
    await page.keyboard.press('Enter');
    await page.locator('mark').waitFor({ timeout: PATIENCE_MS });
    const [mark, feed] = [await page.locator('mark').boundingBox(), await page.getByRole('feed').boundingBox()];
    expect(mark?.y).toBeGreaterThanOrEqual(feed?.y ?? Infinity);
    expect(mark?.y).toBeLessThan((feed?.y ?? 0) + (feed?.height ?? 0));
    expect(await page.locator('mark').textContent()).toBe('a needle in');
  });
});

async function heapBytes(protocol: CDPSession): Promise<number> {
  await protocol.send('HeapProfiler.collectGarbage');
  return metricOf(protocol, 'JSHeapUsedSize');
}

test('the page’s memory is flat while it follows', { timeout: 600_000 }, async () => {
  const session = await newSession(stage.writer);
  await appendRange(session, 1, 10);
  const page = await open(session);
  await showsLast(page, 10);
  const protocol = await page.context().newCDPSession(page);
  onTestFinished(() => protocol.detach());
  await protocol.send('Performance.enable');
  const heaps: number[] = [];
  // until as many are kept as ever are, and then twice as many again
  for (const round of range(1, 9)) {
    const last = 10 + round * 8_000;
    await appendRange(session, last - 8_000 + 1, last);
    await showsLast(page, last);
    if (round > 3) heaps.push(await heapBytes(protocol));
  }
  console.log(`heap after 32,000 to 72,000 events: ${heaps.map((bytes) => (bytes / 1e6).toFixed(1)).join(', ')} MB`);
  const [early, late] = [heaps.slice(0, 2), heaps.slice(-2)].map((third) => Math.min(...third)) as [number, number];
  expect(late / early).toBeLessThan(1.2);
});
