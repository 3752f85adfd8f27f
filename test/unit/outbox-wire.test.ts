/** What a delivery looks like on its way, and what is refused before and behind it. */
import { describe, expect, test } from 'vitest';
import { limits } from '../../src/base/limits.ts';
import { deliveryLimits } from '../../src/base/delivery-limits.ts';
import { SHARDS, deliveryTexts, shardOf } from '../../src/outbox/add.ts';
import type { Delivery } from '../../src/outbox/delivery.ts';
import {
  deliveryRootOf,
  deliverySubjectOf,
  headerNames,
  headersOf,
  messageIdOf,
  readDelivery,
  streamOf,
} from '../../src/outbox/wire.ts';
import { subjectOf } from '../../src/bus/wire.ts';
import { LedgerlineError } from '../../src/base/errors.ts';

const delivery: Delivery = {
  session: 'run-42',
  outboxSequence: 7,
  identity: '0b6c:2:refund.issued',
  topic: 'refund.issued',
  payload: '{"order":7731}',
};

const read = (from: Delivery, change: Record<string, string | undefined> = {}, subject?: string) => {
  const headers = { ...Object.fromEntries(headersOf(from)), ...change };
  return readDelivery(
    subject ?? deliverySubjectOf('ledgerline', from.session),
    (name) => headers[name],
    () => from.payload ?? '',
  );
};

describe('on the wire', () => {
  test('a delivery and a tombstone are read as they were', () => {
    expect(read(delivery)).toEqual(delivery);
    expect(read({ ...delivery, payload: undefined })).toEqual({ ...delivery, payload: undefined });
    expect(read({ ...delivery, payload: '""' })).toEqual({ ...delivery, payload: '""' });
  });

  test.each([
    ['no number', { [headerNames.number]: undefined }],
    ['a number that is none', { [headerNames.number]: '07' }],
    ['a number beyond what is exact', { [headerNames.number]: '9007199254740993' }],
    ['no identity', { [headerNames.identity]: '' }],
    ['no topic', { [headerNames.topic]: undefined }],
  ])('a message with %s is not ours', (_, change) => expect(read(delivery, change)).toBeUndefined());

  test('a message on another’s subject is not ours', () => {
    expect(read(delivery, {}, 'ledgerline-fx.a b')).toBeUndefined();
  });

  test('deliveries and broadcasts share no subject, whatever the sessions are called', () => {
    expect(deliverySubjectOf('tenant-1.ledgerline', 'fx')).toBe('tenant-1.ledgerline-fx.fx');
    expect(deliverySubjectOf('ledgerline', 'a')).not.toBe(subjectOf('ledgerline', 'fx'));
    expect(deliveryRootOf('ledgerline').startsWith('ledgerline.')).toBe(false);
    expect(() => deliverySubjectOf('ledgerline', 'a.>')).toThrow('one subject token');
    expect([streamOf('ledgerline'), streamOf('tenant-1.ledgerline')]).toEqual([
      'LEDGERLINE_FX',
      'TENANT-1_LEDGERLINE_FX',
    ]);
  });

  test('a message id is no other session’s, and a tombstone’s is not its delivery’s', () => {
    const ids = [delivery, { ...delivery, session: 'run-43' }, { ...delivery, payload: undefined }].map(messageIdOf);
    expect(new Set(ids).size).toBe(3);
  });
});

describe('a delivery', () => {
  const refusal = (deliveries: Parameters<typeof deliveryTexts>[0]): LedgerlineError => {
    try {
      deliveryTexts(deliveries);
    } catch (thrown) {
      if (thrown instanceof LedgerlineError) return thrown;
      throw thrown;
    }
    throw new Error('nothing was refused');
  };

  test('is the JSON of its payload, halves of emoji escaped', () => {
    expect(deliveryTexts([{ topic: 'a', payload: { text: '\ud83d', none: undefined } }])).toEqual([
      { topic: 'a', payload: '{"text":"\\ud83d"}' },
    ]);
  });

  test('fits the limit to the byte, or is refused with its name', () => {
    const of = (bytes: number) => [{ topic: 'a', payload: 'ü'.repeat((bytes - 2) / 2) }];
    expect(deliveryTexts(of(deliveryLimits.deliveryBytes))).toHaveLength(1);
    expect(refusal(of(deliveryLimits.deliveryBytes + 2))).toMatchObject({
      code: 'too_large',
      fields: { limit: 'deliveryBytes', max: deliveryLimits.deliveryBytes, index: 0 },
    });
  });

  test.each([
    ['an empty topic', { topic: '', payload: 1 }, 'deliveries[0].topic'],
    ['a wildcard', { topic: 'a.*', payload: 1 }, 'deliveries[0].topic'],
    ['a line break', { topic: 'a\r\nb', payload: 1 }, 'deliveries[0].topic'],
    ['a long topic', { topic: `${'a'.repeat(64)}.${'b'.repeat(64)}`, payload: 1 }, 'deliveries[0].topic'],
    ['nothing', { topic: 'a', payload: undefined }, 'deliveries[0].payload'],
    ['a function', { topic: 'a', payload: () => 1 }, 'deliveries[0].payload'],
    ['a bigint', { topic: 'a', payload: { n: 1n } }, 'deliveries[0].payload'],
  ])('with %s is refused before anything is written', (_, made, where) => {
    expect(refusal([made])).toMatchObject({ code: 'malformed', fields: { where } });
  });

  test('are so many of a step, and not more', () => {
    const of = (count: number) => Array.from({ length: count }, (_, index) => ({ topic: `t${index}`, payload: 1 }));
    expect(deliveryTexts(of(limits.deliveriesPerStep))).toHaveLength(limits.deliveriesPerStep);
    expect(refusal(of(limits.deliveriesPerStep + 1))).toMatchObject({
      code: 'too_large',
      fields: { limit: 'deliveriesPerStep', max: limits.deliveriesPerStep },
    });
  });

  test('that a step sends twice to one topic is refused', () => {
    expect(
      refusal([
        { topic: 'a', payload: 1 },
        { topic: 'a', payload: 2 },
      ]),
    ).toMatchObject({ code: 'malformed', fields: { where: 'deliveries[1].topic' } });
  });
});

test('a session stays in its shard for ever, and sessions are spread over all of them', () => {
  // As they were when the first release wrote them.
  expect(['demo', 'run-42', 'a'].map(shardOf)).toEqual([7, 3, 7]);
  const used = new Set(Array.from({ length: 500 }, (_, index) => shardOf(`s${index}`)));
  expect(used.size).toBe(SHARDS);
});
