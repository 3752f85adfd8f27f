/** A producer's stream of 200 events, cut at its bytes: nothing is lost and nothing is there twice. */
import { randomInt } from 'node:crypto';
import { expect, it } from 'vitest';
import { sleep as pause, systemClock } from '../../src/base/clock.ts';
import { createProducer } from '../../src/producer/producer.ts';
import { startByteCutter } from '../support/byte-cutter.ts';
import { startInProcessGateway } from '../support/in-process-gateway.ts';
import { withSql } from '../support/ledger.ts';
import { freshDatabase } from '../support/services.ts';

const EVENTS = 200;
/** Batches of the stream: between them it is idle for a moment, and cuts meet it there, too. */
const BATCH = 100;
const AT_ONCE = 12;
/** The head of the request and its first lines, every byte of them. */
const BEGINNING = 600;
/** Of the rest every eighth, another one in each run; `LEDGERLINE_TEST_CUTS=all` takes all of it, which takes minutes. */
const STRIDE = process.env['LEDGERLINE_TEST_CUTS'] === 'all' ? 1 : 8;
const OFFSET = randomInt(STRIDE);

it('a stream that is cut at any byte goes on where it was [trigger.dev#2611] [I8]', async () => {
  const database = await freshDatabase();
  const gateway = await startInProcessGateway({ config: { databaseUrl: database.url } });
  // More than the stream has bytes.
  await withSql(database.url, async (sql) => {
    await sql`insert into ledgerline.session (session) select 'cut-' || i from generate_series(1, 10000) i`;
    await sql`insert into ledgerline.session_head (session) select 'cut-' || i from generate_series(1, 10000) i`;
  });
  const cutter = await startByteCutter(gateway.internalUrl);
  const seams = { clock: systemClock, sleep: (delayMs: number, signal?: AbortSignal) => pause(delayMs / 20, signal) };

  /** Says whether the cut came before the stream's end. */
  async function run(afterBytes: number): Promise<boolean> {
    const session = `cut-${afterBytes}`;
    cutter.cut(session, afterBytes);
    const options = { url: cutter.url, key: gateway.key, session, producer: 'p' };
    const producer = createProducer(options, seams);
    for (let counter = 1; counter <= EVENTS; counter += 1) {
      void producer.append('a', counter);
      if (counter % BATCH === 0) expect(await producer.flush()).toEqual({ last: counter });
    }
    await producer.close();
    return cutter.cuts.has(session);
  }

  let next = 0;
  let isPastTheEnd = false;
  const following = (): number => {
    next += 1;
    while (next > BEGINNING && next % STRIDE !== OFFSET) next += 1;
    return next;
  };
  const lane = async (): Promise<void> => {
    while (!isPastTheEnd) isPastTheEnd = !(await run(following())) || isPastTheEnd;
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  // A line has more than 20 bytes.
  expect(next).toBeGreaterThan(EVENTS * 20);
  expect(cutter.cuts.size).toBeGreaterThan(BEGINNING + (EVENTS * 20 - BEGINNING) / STRIDE - AT_ONCE);

  await withSql(database.url, async (sql) => {
    const wrong = await sql`
      select e.session, count(*), max(e.sequence) from ledgerline.event e
       group by e.session
      having count(*) <> ${EVENTS}::int or max(e.sequence) <> ${EVENTS}::int
          or bool_or(e.sequence <> e.producer_sequence or e.payload::text <> e.sequence::text)`;
    expect(wrong).toEqual([]);
  });
  await cutter.stop();
  await gateway.stop();
  await database.drop();
}, 900_000);
