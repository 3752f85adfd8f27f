/** What a flush makes of the server's answers: halves, order, retries, and what each append is told. */
import { describe, expect, it } from 'vitest';
import postgres from 'postgres';
import type { Flight, Landing } from '../../src/ledger/flight.ts';
import { flush } from '../../src/ledger/flush.ts';
import type { Landed } from '../../src/ledger/flush.ts';
import type { Waiting } from '../../src/ledger/waiting.ts';

interface Named extends Waiting {
  readonly name: string;
}
const append = (name: string): Named => ({
  name,
  bytes: 1,
  request: { session: name.slice(0, 1), events: [{ type: 't', data: '1', bytes: 1 }] },
});
const appends = (...names: string[]): Named[] => names.map(append);

function serverError(code: string, message = 'server error'): Error {
  // the constructor is not part of the declared interface
  const Constructor = postgres.PostgresError as unknown as new (fields: { code: string; message: string }) => Error;
  return new Constructor({ code, message });
}
const refused = (code: string): Landing<never> => ({ kind: 'refused', error: serverError(code) });
const receipt = (firsts: (number | null)[], refusals: object[] = []): Landing<string> => ({
  kind: 'answered',
  value: JSON.stringify({ transaction: '1', at: 'now', firsts, refused: refusals }),
});
const lost: Landing<never> = { kind: 'lost', connection: 'c', receipt: undefined, error: new Error('lost') };

/** Answers in the order of the script, whatever is sent. */
function scripted(...landings: Landing<unknown>[]): Flight & { readonly sent: number } {
  let sent = 0;
  return {
    get sent() {
      return sent;
    },
    send: <T>() => {
      const landing = landings[sent];
      sent += 1;
      if (landing === undefined) throw new Error('the script has ended');
      return Promise.resolve(landing as Landing<T>);
    },
    close: () => Promise.resolve(),
  };
}
const told = (landed: readonly Landed<Named>[]): Record<string, string> =>
  Object.fromEntries(landed.map(({ append: { name }, fate }) => [name, fate.kind]));
const options = { deadlineMs: 1_000, leaseMs: 1_000 };
/** Keeps the plain statement out of a scene. */
const stamped = { ...options, isHeld: true };

describe('refused content', () => {
  it('is looked for in halves, first half first', async () => {
    const flight = scripted(refused('22P02'), receipt([1, 2]), refused('22P02'), refused('22P02'), receipt([1]));
    expect(told(await flush(flight, appends('a1', 'a2', 'b1', 'c1'), stamped))).toEqual({
      a1: 'appended',
      a2: 'appended',
      b1: 'refused',
      c1: 'appended',
    });
  });

  it('does not let a session overtake itself: held in the first half, it waits in the second', async () => {
    const skip = { append: 0, code: 'skipped' };
    const flight = scripted(refused('22P02'), receipt([null], [skip]), receipt([7]));
    const landed = await flush(flight, appends('a1', 'a2', 'b1'), stamped);
    expect(told(landed)).toEqual({ a1: 'skipped', a2: 'skipped', b1: 'appended' });
    expect(landed.map((each) => each.append.name).filter((name) => name.startsWith('a'))).toEqual(['a1', 'a2']);
  });

  it.each(['22P02', '23514', '54000'])('of class %s is told as refused', async (code) => {
    const flight = scripted(refused(code), refused(code));
    expect(told(await flush(flight, appends('a1'), options))).toEqual({ a1: 'refused' });
  });
});

describe('the plain statement', () => {
  it('serves one session and is asked once', async () => {
    const flight = scripted(receipt([4]));
    const landed = await flush(flight, appends('a1', 'a2'), options);
    expect(landed.map(({ fate }) => fate)).toMatchObject([{ first: 4 }, { first: 5 }]);
  });

  it('without a row leaves it to the stamp to say why', async () => {
    const flight = scripted({ kind: 'answered', value: undefined }, receipt([null], [{ append: 0, code: 'closed' }]));
    expect(told(await flush(flight, appends('a1'), options))).toEqual({ a1: 'closed' });
  });

  it('that meets the unique key leaves it to the stamp', async () => {
    const repeat = { append: 0, code: 'duplicate', first: 1, last: 1 };
    const flight = scripted(refused('23505'), receipt([null], [repeat]));
    expect(told(await flush(flight, appends('a1'), options))).toEqual({ a1: 'duplicate' });
  });

  it('is not asked where a head was just held', async () => {
    const flight = scripted(receipt([1]));
    await flush(flight, appends('a1'), { ...options, isHeld: true });
    expect(flight.sent).toBe(1);
  });
});

describe('an error of the server', () => {
  it('of serialization is tried again, a few times', async () => {
    const again = scripted(refused('40001'), refused('40P01'), receipt([1, 1]));
    expect(told(await flush(again, appends('a1', 'b1'), options))).toEqual({ a1: 'appended', b1: 'appended' });
    const never = scripted(...Array.from({ length: 5 }, () => refused('40001')));
    expect(await flush(never, appends('a1', 'b1'), options)).toMatchObject([
      { fate: { kind: 'failed', error: { code: 'unavailable' } } },
      { fate: { kind: 'failed', error: { code: 'unavailable' } } },
    ]);
  });

  it.each([
    ['53300', 'unavailable'],
    ['57014', 'unavailable'],
    ['25006', 'unavailable'],
    ['42883', 'internal'],
  ])('%s is told as %s', async (code, expected) => {
    expect(await flush(scripted(refused(code)), appends('a1', 'b1'), options)).toMatchObject([
      { fate: { kind: 'failed', error: { code: expected } } },
      { fate: { kind: 'failed', error: { code: expected } } },
    ]);
  });

  it('55P03 is told as busy', async () => {
    const flight = scripted(refused('55P03'));
    expect(told(await flush(flight, appends('a1'), { ...options, waitMs: 5 }))).toEqual({ a1: 'busy' });
  });
});

it('a lost connection is told for its half alone', async () => {
  const flight = scripted(refused('22P02'), lost, receipt([1]));
  expect(told(await flush(flight, appends('a1', 'b1'), options))).toEqual({ a1: 'lost', b1: 'appended' });
});
