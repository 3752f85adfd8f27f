/** Durable first, broadcast second. */
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { LedgerlineError } from '../../src/base/errors.ts';
import { limits } from '../../src/base/limits.ts';
import { silentLog } from '../../src/base/log.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import { START, toCursor, toSequence } from '../../src/event/sequence.ts';
import type { Head, Ledger, Outcome } from '../../src/ledger/ledger.ts';
import { createSessions } from '../../src/session/sessions.ts';
import { lossyBus } from '../support/lossy-bus.ts';

const at = '2026-11-30T04:00:00.000Z';
const appended = (first: number, last: number): Outcome => ({
  kind: 'appended',
  first: toSequence(first),
  last: toSequence(last),
  at,
});
const event = (type: string, data: string) => ({ type, data, bytes: Buffer.byteLength(data) });
const closed: Head = { head: toCursor(3), floor: START, state: 'closed' };

/** A commit that the test decides. */
function deferred<Value>() {
  let resolve!: (value: Value) => void;
  const promise = new Promise<Value>((settle) => (resolve = settle));
  return { promise, resolve };
}

function house(ledger: Partial<Ledger>) {
  const bus = lossyBus();
  const metrics = createMetrics();
  const sessions = createSessions({ ledger: ledger as Ledger, bus, metrics, log: silentLog, clock: systemClock });
  const count = async (name: string, labels: object = {}) => {
    const { values } = await metrics.registry.getSingleMetric(name)!.get();
    return values
      .filter((value) => Object.entries(labels).every(([label, wanted]) => value.labels[label] === wanted))
      .reduce((sum, { value }) => sum + value, 0);
  };
  return { bus, sessions, count };
}

describe('an append', () => {
  test('broadcasts nothing before the ledger has it, and its frames then [I4]', async () => {
    const commit = deferred<Outcome>();
    const { bus, sessions, count } = house({ append: () => commit.promise });
    const answer = sessions.append({
      session: 's1',
      events: [event('text.delta', '{"n":9007199254740993}'), event('x', '"\\u0000"')],
    });
    await turn();
    expect(bus.published).toEqual([]);
    commit.resolve(appended(41, 42));
    expect(await answer).toEqual(appended(41, 42));
    const text =
      `id: 41\ndata: {"sequence":41,"type":"text.delta","at":"${at}","data":{"n":9007199254740993}}\n\n` +
      `id: 42\ndata: {"sequence":42,"type":"x","at":"${at}","data":"\\u0000"}\n\n`;
    expect(bus.published).toEqual([
      { session: 's1', broadcast: { kind: 'events', first: 41, last: 42, frames: Buffer.from(text) } },
    ]);
    expect(await count('ledgerline_appends_total', { outcome: 'appended' })).toBe(1);
    expect(await count('ledgerline_appended_events_total')).toBe(2);
  });

  test('of a turn carries its turn and attempt', async () => {
    const { bus, sessions } = house({ append: async () => appended(1, 1) });
    await sessions.append({ session: 's1', events: [event('x', '1')], fence: { turn: 't1', attempt: 2 } });
    const { broadcast } = bus.published[0]!;
    expect(broadcast.kind === 'events' && broadcast.frames!.toString()).toContain(
      `"at":"${at}","turn":"t1","attempt":2,"data":1`,
    );
  });

  test('too large for one piece is broadcast as its range', async () => {
    const { bus, sessions } = house({ append: async () => appended(1, 2) });
    const half = event('x', JSON.stringify('y'.repeat(limits.pageBytes / 2)));
    await sessions.append({ session: 's1', events: [half, half] });
    expect(bus.published).toEqual([{ session: 's1', broadcast: { kind: 'events', first: 1, last: 2 } }]);
  });

  test('is answered although the bus throws (keptn#380)', async () => {
    const { bus, sessions } = house({ append: async () => appended(1, 1), close: async () => closed });
    bus.meet(() => 'throw');
    expect(await sessions.append({ session: 's1', events: [event('x', '1')] })).toEqual(appended(1, 1));
    expect(await sessions.close('s1')).toEqual(closed);
  });

  test.each<Outcome>([
    { kind: 'duplicate', first: toSequence(1), last: toSequence(1) },
    { kind: 'conflict', first: toSequence(1), last: toSequence(1) },
    { kind: 'overlap', counter: 4 },
    { kind: 'closed' },
    { kind: 'unknown_session' },
    { kind: 'wrong_head', head: START },
    { kind: 'fenced' },
  ])('that stored nothing ($kind) is not broadcast', async (outcome) => {
    const { bus, sessions, count } = house({ append: async () => outcome });
    expect(await sessions.append({ session: 's1', events: [event('x', '1')] })).toEqual(outcome);
    expect(bus.published).toEqual([]);
    expect(await count('ledgerline_appends_total', { outcome: outcome.kind })).toBe(1);
    expect(await count('ledgerline_appended_events_total')).toBe(0);
  });

  test('that fails is counted by its code and not broadcast', async () => {
    const { bus, sessions, count } = house({
      append: () => Promise.reject(new LedgerlineError('append_unknown', 'the connection was lost')),
    });
    await expect(sessions.append({ session: 's1', events: [event('x', '1')] })).rejects.toMatchObject({
      code: 'append_unknown',
    });
    expect(bus.published).toEqual([]);
    expect(await count('ledgerline_appends_total', { outcome: 'append_unknown' })).toBe(1);
  });
});

describe('closing and deleting', () => {
  test.each(['close', 'delete'] as const)(
    '%s tells the readers to read the head, once it is committed [I4]',
    async (deed) => {
      const commit = deferred<Head | undefined>();
      const { bus, sessions } = house({ [deed]: () => commit.promise });
      const answer = sessions[deed]('s1');
      await turn();
      expect(bus.published).toEqual([]);
      commit.resolve(closed);
      expect(await answer).toEqual(closed);
      expect(bus.published).toEqual([{ session: 's1', broadcast: { kind: 'head' } }]);
    },
  );

  test.each(['close', 'delete'] as const)('%s of a session that does not exist tells nobody', async (deed) => {
    const { bus, sessions } = house({ [deed]: async () => undefined });
    expect(await sessions[deed]('s1')).toBeUndefined();
    expect(bus.published).toEqual([]);
  });
});
