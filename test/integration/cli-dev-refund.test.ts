/** A refund in the development server, and by the worked example's own processes: one row, one delivery, one entry, whatever is killed. */
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from 'vitest';
import { readEntries, readRefunds } from '../../src/example/books.ts';
import { endAll, startCli } from '../support/cli.ts';
import { dev, home } from '../support/dev-server.ts';
import type { Home } from '../support/dev-server.ts';
import { withSql } from '../support/ledger.ts';
import { sharedNatsUrl } from '../support/services.ts';
import { eventually } from '../support/waits.ts';
import type { SessionEvent } from '../../web-client/src/session-event.ts';
import { emptyTimeline, foldEvents } from '../../web-client/src/timeline.ts';

afterEach(endAll);

/** A relay that was killed has its shards for ten seconds more. */
const POSTED_MS = 40_000;
/** Two starts, a worker's lease, and a relay's. */
const KILLED_MS = 150_000;

const withNats = (): Promise<Home> =>
  home({ NATS_URL: sharedNatsUrl(), LEDGERLINE_NATS_SUBJECT_ROOT: `test-${randomUUID()}` });
const databaseOf = ({ environment }: Home): string => environment['DATABASE_URL'] ?? '';
const refunds = (at: Home) => withSql(databaseOf(at), readRefunds);
const entries = (at: Home) => withSql(databaseOf(at), readEntries);

const published = (at: Home) =>
  withSql(databaseOf(at), async (sql) => {
    const rows = await sql`select from ledgerline.outbox where topic = 'refund.issued' and published_at is not null`;
    return rows.length;
  });

/** Every refund has its entry, and there is one. */
const untilPosted = (at: Home) =>
  eventually(
    'the refund is posted',
    async () => {
      const [refund, entry] = [await refunds(at), await entries(at)];
      return refund.length > 0 && entry.length > 0 && { refund, entry };
    },
    POSTED_MS,
  );

it(
  'posts once what was published and not applied when the process was killed',
  async () => {
    const at = await home({ LEDGERLINE_LEASE_MS: '4000' });
    const first = await dev(at);
    await first.say('Refund order 7731, please');
    await first.until('turn.waiting');
    await withSql(databaseOf(at), (sql) =>
      sql.begin(async (tx) => {
        await tx`lock table example.entry in access exclusive mode`; // so that nothing is posted before the end
        await first.decide('approved');
        await eventually('it is published', async () => (await published(at)) === 1);
        first.cli.signal('SIGKILL');
        await first.cli.exit;
      }),
    );
    expect(await entries(at)).toEqual([]);

    const second = await dev(at);
    const { refund, entry } = await untilPosted(at);
    await second.until('turn.completed');
    expect(refund).toMatchObject([{ order: '7731', cents: 40, key: expect.stringMatching(/:2$/) }]);
    expect(entry).toMatchObject([{ refund: refund[0]?.key, order: '7731', cents: 40 }]);
    // Three attempts met the calls; each call is one item, with its outcome from the journal.
    const { items } = foldEvents(emptyTimeline, (await second.events()) as SessionEvent[]);
    const tools = items.filter((item) => item.kind === 'tool' && !item.isAbandoned);
    expect(tools).toMatchObject([
      { tool: 'lookup_order', step: 1, state: 'done', args: { order: '7731' }, isFromJournal: true },
      { tool: 'issue_refund', step: 2, state: 'done', args: { order: '7731', cents: 40 }, isFromJournal: true },
    ]);
  },
  KILLED_MS,
);

it('delivers by JetStream when it has a NATS', async () => {
  const at = await withNats();
  const { cli, say, until, decide } = await dev(at);
  expect(cli.stdout()).toContain('deliveries go by JetStream');
  await say('Refund order 7731, please');
  await until('turn.waiting');
  await decide('approved');
  const { refund, entry } = await untilPosted(at);
  expect(entry).toMatchObject([{ refund: refund[0]?.key }]);
  cli.signal('SIGINT');
  expect(await cli.exit).toBe(0);
});

it('leaves all of it to the worked example’s worker and consumer, which run from what is built', async () => {
  const at = await withNats();
  const { say, until, decide, events } = await dev(at, { options: ['--no-agent'] });
  const consumer = startCli(['entries'], at);
  await eventually('it consumes', () => consumer.stderr().includes('"msg":"consuming"'), POSTED_MS);
  startCli(['worker', fileURLToPath(new URL('../../dist/example/agent.js', import.meta.url))], at);
  await say('Refund order 7731, please');
  await until('turn.waiting');
  await decide('approved');
  const { entry } = await untilPosted(at);
  expect(entry).toMatchObject([{ order: '7731', cents: 40 }]);
  await until('turn.completed');
  const done = (await events()).filter(({ type, data }) => type === 'step.done' && data['fromJournal'] === false);
  expect(done.map(({ data }) => data['step'])).toEqual([0, 1, 2, 4]);
  consumer.signal('SIGTERM');
  expect(await consumer.exit).toBe(0);
});
