/** What counts as an acknowledgement: a number in the stream, in time, and nothing else that is answered. */
import { NatsError, headers } from 'nats';
import type { Msg, NatsConnection } from 'nats';
import { describe, expect, test } from 'vitest';
import { silentLog } from '../../src/base/log.ts';
import { acknowledgedPublish } from '../../src/outbox/acknowledged.ts';
import { manualClock } from '../support/manual-clock.ts';

type Hear = (error: Error | null, message: Msg) => void;

/** A connection whose other side is the test. */
function scripted() {
  let hear: Hear = () => undefined;
  let end: (cause: void | Error) => void = () => undefined;
  const replies: string[] = [];
  const closed = new Promise<void | Error>((resolve) => (end = resolve));
  const client = {
    subscribe: (_: string, { callback }: { callback: Hear }) => void (hear = callback),
    publish: (_: string, __: Uint8Array, { reply }: { reply: string }) => void replies.push(reply),
    closed: () => closed,
  };
  const clock = manualClock();
  const options = { deadlineMs: 5_000, clock, log: silentLog };
  const publish = acknowledgedPublish(client as unknown as NatsConnection, options);
  const answer = (place: number, text: string, code?: number): void => {
    const json = (): unknown => JSON.parse(text) as unknown;
    hear(null, { subject: replies[place], headers: code === undefined ? undefined : { code }, json } as unknown as Msg);
  };
  const deny = (error: Error): void => hear(error, {} as Msg);
  return { clock, answer, deny, end, publish: () => publish('fx.a', Buffer.from('{}'), headers()) };
}

describe('a publish', () => {
  test('is stored where its own acknowledgement says, whichever comes first', async () => {
    const broker = scripted();
    const all = [broker.publish(), broker.publish()];
    broker.answer(1, '{"stream":"FX","seq":8}');
    broker.answer(0, '{"stream":"FX","seq":7,"duplicate":true}');
    broker.answer(0, '{"stream":"FX","seq":9}');
    expect(await Promise.all(all)).toEqual([7, 8]);
  });

  test.each([
    ['no number', '{"stream":"FX"}'],
    ['number 0, of a duplicate whose first is not stored yet', '{"stream":"FX","seq":0,"duplicate":true}'],
    ['a number that is none', '{"stream":"FX","seq":"7"}'],
    ['nothing', ''],
    ['what is no object', 'null'],
    ['what somebody else says who listens', '+OK'],
    [
      'an error',
      '{"error":{"code":503,"err_code":10077,"description":"maximum messages exceeded"},"stream":"FX","seq":0}',
    ],
  ])('that is answered by %s is not stored', async (_, text) => {
    const broker = scripted();
    const published = broker.publish();
    broker.answer(0, text);
    await expect(published).rejects.toBeInstanceOf(NatsError);
  });

  test('that nobody takes is not stored', async () => {
    const broker = scripted();
    const published = broker.publish();
    broker.answer(0, '', 503);
    await expect(published).rejects.toMatchObject({ code: '503' });
  });

  test('that is not answered in time is unknown, and a late acknowledgement is nobody’s', async () => {
    const broker = scripted();
    const published = broker.publish();
    const fate = Promise.allSettled([published]);
    await broker.clock.advance(5_000);
    expect(await fate).toMatchObject([{ status: 'rejected', reason: { code: 'TIMEOUT' } }]);
    const next = broker.publish();
    broker.answer(0, '{"stream":"FX","seq":7}');
    broker.answer(1, '{"stream":"FX","seq":8}');
    expect(await next).toBe(8);
  });

  test('is unknown when its connection ends, or may not hear, and so are all that wait', async () => {
    const broker = scripted();
    const fates = Promise.allSettled([broker.publish(), broker.publish()]);
    broker.deny(new Error('not allowed'));
    const denied = { status: 'rejected', reason: { message: 'not allowed' } };
    expect(await fates).toMatchObject([denied, denied]);
    const last = Promise.allSettled([broker.publish()]);
    broker.end();
    expect(await last).toMatchObject([{ status: 'rejected', reason: { code: 'CONNECTION_CLOSED' } }]);
  });
});
