/** A producer's stream of 200 events, cut at each of its bytes: nothing is lost and nothing is there twice. */
import { expect, it } from 'vitest';
import { sleep as pause, systemClock } from '../../src/base/clock.ts';
import type { Clock } from '../../src/base/clock.ts';
import { createProducer } from '../../src/producer/producer.ts';
import { startByteCutter } from '../support/byte-cutter.ts';
import type { Cut } from '../support/byte-cutter.ts';
import { countTo, withSql } from '../support/ledger.ts';
import { database, gateway } from '../support/stage.ts';
import { eventually } from '../support/waits.ts';

const EVENTS = 200;
/** What the library sends at a time: each is a chunk of the request. */
const CHUNK = 50;
/** Behind a chunk: its end, and the size of the next, `4b0`, or the end of all chunks. */
const CHUNK_END = '\r\n4b0\r\n'.length;
const AT_ONCE = 24;
/** One producer's stream is cut so often, some ten events apart, before it is whole. */
const CUTS = 20;

const lineOf = (counter: number): string => `{"type":"a","data":${counter}}\n`;

/** Every byte of the lines, and of what HTTP puts between them. */
const behindLines = countTo(EVENTS).flatMap((counter) => {
  const line = lineOf(counter);
  return countTo(line.length + (counter % CHUNK === 0 ? CHUNK_END : 0)).map((bytes): Cut => ({ line, bytes }));
});
const RUNS = Math.ceil(behindLines.length / CUTS);
const everyOther = <T>(all: readonly T[], from: number): T[] => all.filter((_, index) => index % RUNS === from);

it('a stream that is cut at any byte goes on where it was [trigger.dev#2611] [I8]', async () => {
  const { url } = await database();
  const at = await gateway({ databaseUrl: url, natsUrl: null });
  await withSql(url, async (sql) => {
    await sql`insert into ledgerline.session (session) select 'cut-' || i from generate_series(1000, 1999) i`;
    await sql`insert into ledgerline.session_head (session) select 'cut-' || i from generate_series(1000, 1999) i`;
  });
  const cutter = await startByteCutter(at.internalUrl);
  // It pauses less than it would, and takes no busy machine for a proxy that holds its stream back.
  const clock: Clock = { ...systemClock, after: (delayMs, act) => systemClock.after(delayMs * 30, act) };
  const seams = { clock, sleep: (delayMs: number, signal?: AbortSignal) => pause(delayMs / 50, signal) };

  async function run(number: number, cuts: readonly Cut[]): Promise<void> {
    const session = `cut-${1_000 + number}`;
    cutter.plan(session, cuts);
    const options = { url: cutter.url, key: at.key, session, producer: 'p', giveUpMs: 600_000 };
    const producer = createProducer(options, seams);
    for (const counter of countTo(EVENTS)) {
      void producer.append('a', counter);
      if (counter % (EVENTS / 2) === 0) expect(await producer.flush()).toEqual({ last: counter });
    }
    await producer.close();
  }

  await run(RUNS, []);
  const inHeads = countTo(cutter.headBytes()).map((bytes): Cut => ({ bytes }));
  expect(inHeads.length).toBeGreaterThan(`POST /internal/sessions/cut-1000/events`.length);
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let number = next++; number < RUNS; number = next++) {
      // The heads first: they are of one length as long as nothing is stored.
      await run(number, [...everyOther(inHeads, number), ...everyOther(behindLines, number)]);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  // The last bytes of a stream tell its server that it is over, and nobody waits for them.
  await eventually('every cut has come to pass', () => cutter.left() === 0);

  await withSql(url, async (sql) => {
    const right = await sql`
      select session from ledgerline.event group by session
      having count(*) = ${EVENTS}::int and max(sequence) = ${EVENTS}::int
         and bool_and(sequence = producer_sequence and payload::text = sequence::text)`;
    expect(right).toHaveLength(RUNS + 1);
  });
  await cutter.stop();
}, 900_000);
