/** What is revoked stays so, through whatever happens to the table, and cuts whoever it is about. */
import { describe, expect, it } from 'vitest';
import { RevocationSet } from '../../src/access/revocation-set.ts';
import type { TokenIdentity } from '../../src/access/revocation-set.ts';
import { createRevocations } from '../../src/access/revocations.ts';
import { accessLimits } from '../../src/base/access-limits.ts';
import { silentLog } from '../../src/base/log.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import { memoryRevocations } from '../support/access.ts';
import type { MemoryRevocations } from '../support/access.ts';
import { manualClock } from '../support/manual-clock.ts';

const token = (issuedAtMs?: number, jti = 'j', sub = 'u'): TokenIdentity => ({ jti, sub, issuedAtMs });

describe('a revocation', () => {
  const set = new RevocationSet();
  set.add({ kind: 'jti', value: 'gone', revokedAtMs: 10_500, untilMs: 20_000 });
  set.add({ kind: 'sub', value: 'maya', revokedAtMs: 10_500, untilMs: 20_000 });
  set.add({ kind: 'session', value: 's', revokedAtMs: 10_500, untilMs: 30_000 });

  it('of a token ends it whenever it was issued, and no other', () => {
    expect([set.covers(token(99_000, 'gone')), set.covers(token(1_000, 'other'))]).toEqual([true, false]);
  });

  it.each([
    ['before it', 9_000, true],
    ['in its second, which says no more', 10_000, true],
    ['after it', 11_000, false],
    ['nobody knows when', undefined, true],
  ])('of a subject or a session ends a token that was issued %s: %s', (_, issuedAtMs, isRevoked) => {
    expect(set.covers(token(issuedAtMs, 'j', 'maya'))).toBe(isRevoked);
    expect(set.coversIn(token(issuedAtMs), 's')).toBe(isRevoked);
    expect([set.covers(token(issuedAtMs)), set.coversIn(token(issuedAtMs), 't')]).toEqual([false, false]);
  });

  it('is forgotten when it is over', () => {
    set.forget(20_000);
    expect([set.covers(token(0, 'gone')), set.coversIn(token(0), 's'), set.size]).toEqual([false, true, 1]);
  });

  it('finds a name that the database cannot hold as it is', () => {
    const odd = new RevocationSet();
    odd.add({ kind: 'sub', value: 'a\0b\ud800', revokedAtMs: 1, untilMs: 9 });
    expect(odd.covers(token(0, 'j', 'a\0b\ud800'))).toBe(true);
  });
});

/** The last page, read and on its way for as long as somebody wants. */
function holdLastPage(store: MemoryRevocations): { hold(): void; letGo(): Promise<void> } {
  const read = store.read.bind(store);
  let held = Promise.resolve();
  let release = (): void => undefined;
  store.read = async (place) => {
    const page = await read(place);
    if (page.isLast && page.isContinuous) await held;
    return page;
  };
  return {
    hold: () => void (held = new Promise((resolve) => (release = resolve))),
    async letGo() {
      release();
      for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
    },
  };
}

describe('the revocations of a gateway', () => {
  const open = async () => {
    const clock = manualClock();
    const store = memoryRevocations(clock);
    const metrics = createMetrics();
    const revocations = createRevocations({ store, clock, log: silentLog, metrics });
    const stale = async (): Promise<number | undefined> =>
      (await metrics.revocationsStaleSeconds.get()).values[0]?.value;
    return { clock, store, revocations, stale };
  };

  it('are known at its start, however many pages there are', async () => {
    const { store, revocations } = await open();
    for (const value of ['a', 'b', 'c', 'd', 'e']) await store.revoke({ kind: 'jti', value });
    await revocations.start();
    expect(['a', 'b', 'c', 'd', 'e', 'f'].map((jti) => revocations.isRevoked(token(0, jti)))).toEqual([
      ...Array<boolean>(5).fill(true),
      false,
    ]);
    await revocations.stop();
  });

  it('of another gateway cut its open streams within the bound, once, and no others', async () => {
    const { clock, store, revocations } = await open();
    await revocations.start();
    const cut: string[] = [];
    const watch = (name: string, identity: TokenIdentity, session: string): (() => void) =>
      revocations.watch(identity, session, () => cut.push(name));
    watch('by id', token(0, 'a'), 's');
    watch('by subject', token(clock.wall() - 5_000, 'b', 'maya'), 's');
    watch('by session', token(clock.wall() - 5_000, 'c'), 't');
    watch('other', token(0, 'd'), 's');
    watch('left', token(0, 'a'), 's')();
    await store.revoke({ kind: 'jti', value: 'a' });
    await store.revoke({ kind: 'sub', value: 'maya' });
    await store.revoke({ kind: 'session', value: 't' });
    expect(cut).toEqual([]);
    await clock.advance(accessLimits.revocationBoundMs);
    expect(cut).toEqual(['by id', 'by subject', 'by session']);
    await clock.advance(60_000);
    expect(cut).toHaveLength(3);
    await revocations.stop();
    expect(clock.waiting).toBe(0);
  });

  it('of its own let nobody in from then on, and end open streams when the second is over', async () => {
    const { clock, revocations } = await open();
    await revocations.start();
    await clock.advance(300);
    const cut: string[] = [];
    revocations.watch(token(0, 'a'), 's', () => cut.push('open'));
    await revocations.revoke({ kind: 'jti', value: 'a' });
    expect([cut, revocations.isRevoked(token(0, 'a'))]).toEqual([[], true]);
    revocations.watch(token(0, 'a'), 's', () => cut.push('late'));
    await clock.advance(699);
    expect(cut).toEqual(['late']);
    await clock.advance(1);
    expect(cut).toEqual(['late', 'open']);
    await revocations.stop();
  });

  it.each([
    ['for the first time', false],
    ['anew', true],
    ['on from where it was, with an older one of the same name', undefined],
  ])('of its own hold also when the table is being read %s meanwhile', async (_, isRestored) => {
    const { clock, store, revocations } = await open();
    const page = holdLastPage(store);
    await store.revoke({ kind: 'sub', value: 'other' });
    if (isRestored === false) store.isAway = true;
    await revocations.start();
    store.isAway = false;
    clock.stepWall(1_000);
    if (isRestored === true) store.restore([{ kind: 'jti', value: 'x' }]);
    if (isRestored === undefined) await store.revoke({ kind: 'sub', value: 'maya' });
    clock.stepWall(5_000);
    const issued = token(clock.wall() - 1_000, 'j', 'maya');
    page.hold();
    await clock.advance(accessLimits.revocationPollMs);
    await revocations.revoke({ kind: 'sub', value: 'maya' });
    await page.letGo();
    expect(revocations.isRevoked(issued)).toBe(true);
    await revocations.stop();
  });

  it('never cut a stream so soon that a token issued because of it counts as issued before', async () => {
    const { clock, store, revocations } = await open();
    await revocations.start();
    const renewals: boolean[] = [];
    for (const waitMs of [0, 1, 450, 999, 1_234, 1_999]) {
      await clock.advance(waitMs);
      const issuedAtMs = (): number => Math.floor(clock.wall() / 1_000) * 1_000;
      const sub = `u${waitMs}`;
      revocations.watch(token(issuedAtMs(), 'j', sub), 's', () => {
        renewals.push(revocations.isRevoked(token(issuedAtMs(), 'k', sub)));
      });
      await store.revoke({ kind: 'sub', value: sub });
      await clock.advance(accessLimits.revocationBoundMs);
    }
    expect(renewals).toEqual(Array(6).fill(false));
    await revocations.stop();
  });

  it('stay in force while the table is away, which the gauge says', async () => {
    const { clock, store, revocations, stale } = await open();
    await store.revoke({ kind: 'jti', value: 'a' });
    await revocations.start();
    store.isAway = true;
    await clock.advance(20_000);
    expect([revocations.isRevoked(token(0, 'a')), revocations.isRevoked(token(0, 'b'))]).toEqual([true, false]);
    expect(await stale()).toBeGreaterThan(10);
    store.isAway = false;
    await store.revoke({ kind: 'jti', value: 'b' });
    await clock.advance(accessLimits.revocationBoundMs);
    expect([revocations.isRevoked(token(0, 'b')), await stale()]).toEqual([true, 0]);
    await revocations.stop();
  });

  it('that are not known yet let nobody in, and do when the table is back', async () => {
    const { clock, store, revocations } = await open();
    await store.revoke({ kind: 'jti', value: 'a' });
    store.isAway = true;
    await revocations.start();
    expect(() => revocations.isRevoked(token(0, 'b'))).toThrow(expect.objectContaining({ code: 'unavailable' }));
    store.isAway = false;
    await clock.advance(accessLimits.revocationPollMs);
    expect([revocations.isRevoked(token(0, 'a')), revocations.isRevoked(token(0, 'b'))]).toEqual([true, false]);
    await revocations.stop();
  });

  it('are read anew when the database was restored, though it has counted on since', async () => {
    const { clock, store, revocations } = await open();
    for (const value of ['a', 'b', 'c']) await store.revoke({ kind: 'jti', value });
    await revocations.start();
    clock.stepWall(1_000);
    store.restore(['a', 'x', 'y', 'z'].map((value) => ({ kind: 'jti', value })));
    await clock.advance(accessLimits.revocationBoundMs);
    expect(['a', 'b', 'x', 'y', 'z'].map((jti) => revocations.isRevoked(token(0, jti)))).toEqual([
      true,
      false,
      true,
      true,
      true,
    ]);
    await revocations.stop();
  });

  it('are read from where they were, and not from the start', async () => {
    const { clock, store, revocations } = await open();
    for (let index = 0; index < 20; index += 1) await store.revoke({ kind: 'jti', value: `${index}` });
    await revocations.start();
    const before = store.reads;
    await clock.advance(accessLimits.revocationPollMs);
    expect(store.reads - before).toBe(1);
    await revocations.stop();
  });
});
