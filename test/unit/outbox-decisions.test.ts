/** What relays and consumers decide, without a server: who is next, what is a duplicate, and what runs beside what. */
import { describe, expect, test } from 'vitest';
import { silentLog } from '../../src/base/log.ts';
import { deliveryLimits } from '../../src/base/delivery-limits.ts';
import type { Delivery, PublishOutcome } from '../../src/outbox/delivery.ts';
import { rememberedAs, verdictOn } from '../../src/outbox/inbox-verdict.ts';
import { createLanes } from '../../src/outbox/lanes.ts';
import type { OutboxRow } from '../../src/outbox/outbox-row.ts';
import { publishInOrder } from '../../src/outbox/publish.ts';

const delivery = (outboxSequence: number): Delivery & { readonly payload: string } => ({
  session: 's',
  outboxSequence,
  identity: `t:${outboxSequence}:topic`,
  topic: 'topic',
  payload: '1',
});

describe('a consumer that is at 5', () => {
  const tombstone = { ...delivery(3), payload: undefined };
  test.each([
    ['6 is a hole: another process moved the mark meanwhile', delivery(6), undefined, 'hole'],
    ['9 is a hole', delivery(9), undefined, 'hole'],
    ['5, which it remembers, is a duplicate', delivery(5), delivery(5).identity, 'duplicate'],
    ['3, which it has forgotten, is a duplicate', delivery(3), undefined, 'duplicate'],
    ['3 under another’s identity is a conflict', delivery(3), 't:9:topic', 'conflict'],
    ['3 behind its tombstone is late', delivery(3), rememberedAs(tombstone), 'late'],
    [
      '3 behind another’s tombstone is a conflict',
      delivery(3),
      rememberedAs({ ...tombstone, identity: 'x' }),
      'conflict',
    ],
    ['the tombstone of 3 is a duplicate', tombstone, delivery(3).identity, 'duplicate'],
    ['3, of which it passed the number, is a duplicate', delivery(3), rememberedAs(delivery(3), true), 'duplicate'],
    [
      'the tombstone of 3, of which it passed the number, is a duplicate',
      tombstone,
      rememberedAs(delivery(3), true),
      'duplicate',
    ],
    [
      '3 where it passed the number of another is a conflict',
      delivery(3),
      rememberedAs({ ...delivery(3), identity: 'x' }, true),
      'conflict',
    ],
    ['the tombstone of 3 again is a duplicate', tombstone, rememberedAs(tombstone), 'duplicate'],
  ])('sees: %s', (_, given, identity, verdict) => expect(verdictOn(given, { mark: 5, identity })).toBe(verdict));

  test('sees a hole in a session that it does not know', () => {
    expect(verdictOn(delivery(2), { mark: undefined, identity: undefined })).toBe('hole');
  });
});

describe('a relay', () => {
  const row = (number: number, more: Partial<OutboxRow> = {}): OutboxRow => ({
    delivery: delivery(number),
    attempts: 0,
    isDue: true,
    isAgain: false,
    ...more,
  });

  async function publish(rows: readonly OutboxRow[], answers: Record<number, PublishOutcome>, ownedFor = Infinity) {
    const asked: (number | string)[] = [];
    const channel = {
      publish({ outboxSequence, payload }: Delivery): Promise<PublishOutcome> {
        asked.push(payload === undefined ? `tombstone ${outboxSequence}` : outboxSequence);
        return Promise.resolve(answers[outboxSequence] ?? { kind: 'stored', streamSequence: outboxSequence * 10 });
      },
    };
    const isOurs = (): boolean => asked.length < ownedFor;
    const { fates, awayBecause } = await publishInOrder(rows, { channel, isOurs, random: () => 0 });
    return { asked, awayBecause, fates: fates.map(({ kind, outboxSequence }) => `${kind} ${outboxSequence}`) };
  }

  test('goes on while the broker acknowledges', async () => {
    expect(await publish([row(1), row(2)], {})).toEqual({
      asked: [1, 2],
      fates: ['published 1', 'published 2'],
      awayBecause: undefined,
    });
  });

  test.each<PublishOutcome>([
    { kind: 'away', reason: 'timeout' },
    { kind: 'refused', reason: 'too large' },
  ])('stops at the first that is $kind', async (answer) => {
    const { asked, fates } = await publish([row(1), row(2), row(3)], { 2: answer });
    expect(asked).toEqual([1, 2]);
    expect(fates).toEqual(answer.kind === 'away' ? ['published 1'] : ['published 1', 'refused 2']);
  });

  test('does not pass one that pauses, nor publish what is not its own any more', async () => {
    expect((await publish([row(1), row(2, { isDue: false }), row(3)], {})).asked).toEqual([1]);
    expect((await publish([row(1), row(2)], {}, 1)).asked).toEqual([1]);
  });

  test('sends a tombstone for what was refused too often, and takes its refusal for an outage', async () => {
    const worn = row(1, { attempts: deliveryLimits.deliveryAttempts });
    expect(await publish([worn, row(2)], {})).toEqual({
      asked: ['tombstone 1', 2],
      fates: ['dead 1', 'published 2'],
      awayBecause: undefined,
    });
    expect(await publish([worn, row(2)], { 1: { kind: 'refused', reason: 'no such stream' } })).toEqual({
      asked: ['tombstone 1'],
      fates: [],
      awayBecause: 'no such stream',
    });
  });
});

describe('lanes', () => {
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const work = (name: string) => (): Promise<void> => {
    started.push(name);
    return new Promise((resolve) => ends.set(name, resolve));
  };
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  test('run sessions side by side up to their number, and one session in order', async () => {
    const lanes = createLanes({ atOnce: 2, queued: 10, log: silentLog });
    await Promise.all([
      lanes.add('a', work('a1')),
      lanes.add('a', work('a2')),
      lanes.add('b', work('b1')),
      lanes.add('c', work('c1')),
    ]);
    await settled();
    expect(started).toEqual(['a1', 'b1']);
    ends.get('a1')?.();
    await settled();
    expect(started).toEqual(['a1', 'b1', 'c1']);
    ends.get('b1')?.();
    await settled();
    expect(started).toEqual(['a1', 'b1', 'c1', 'a2']);
    for (const end of ends.values()) end();
    await lanes.idle();
  });

  test('are full when so much waits, and have room when something ends, also by failing', async () => {
    const lanes = createLanes({ atOnce: 1, queued: 2, log: silentLog });
    let fail: (error: Error) => void = () => undefined;
    await lanes.add('a', () => new Promise((_, reject) => (fail = reject)));
    let hasRoom = false;
    const second = lanes.add('b', () => Promise.resolve()).then(() => (hasRoom = true));
    await settled();
    expect(hasRoom).toBe(false);
    fail(new Error('it fails'));
    await second;
    await lanes.idle();
  });
});
