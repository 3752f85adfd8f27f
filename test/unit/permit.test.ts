/** A stream ends when its token does, by its time or by a revocation, and lets go of whatever would have told it. */
import { describe, expect, it, vi } from 'vitest';
import { Permit, expirySecond, hasBegun } from '../../src/room/permit.ts';
import type { Terms } from '../../src/room/permit.ts';
import { manualClock } from '../support/manual-clock.ts';

function open(terms: (clock: ReturnType<typeof manualClock>) => Terms) {
  const clock = manualClock();
  const denials: string[] = [];
  const permit = new Permit(terms(clock), clock, (reason) => {
    denials.push(reason);
    permit.release();
  });
  return { clock, denials, permit };
}

describe('a permit', () => {
  it('is over when its time is, once', async () => {
    const { clock, denials, permit } = open(({ wall }) => ({ expiresAtMs: wall() + 1_000 }));
    permit.watch();
    await clock.advance(999);
    expect([denials, permit.hasExpired]).toEqual([[], false]);
    await clock.advance(60_000);
    expect([denials, permit.hasExpired, clock.waiting]).toEqual([['expired'], true, 0]);
  });

  it('is over when it is revoked, and lets go', () => {
    let revoke = (): void => undefined;
    let isWatched = false;
    const onRevoked = (revoked: () => void): (() => void) => {
      revoke = revoked;
      isWatched = true;
      return () => void (isWatched = false);
    };
    const { clock, denials, permit } = open(({ wall }) => ({ expiresAtMs: wall() + 1_000, onRevoked }));
    permit.watch();
    expect([denials, isWatched]).toEqual([[], true]);
    revoke();
    expect([denials, isWatched, clock.waiting]).toEqual([['revoked'], false, 0]);
  });

  it('that was revoked before is over on the spot, and lets go', () => {
    let isWatched = true;
    const onRevoked = (revoked: () => void): (() => void) => {
      revoked();
      return () => void (isWatched = false);
    };
    const { denials, permit } = open(() => ({ onRevoked }));
    permit.watch();
    expect([denials, isWatched]).toEqual([['revoked'], false]);
  });

  it('that is over already is not watched', () => {
    const watched: string[] = [];
    const onRevoked = (): (() => void) => {
      watched.push('revocation');
      return () => undefined;
    };
    const { denials, permit } = open(({ wall }) => ({ expiresAtMs: wall() - 1, onRevoked }));
    permit.watch();
    expect([denials, watched]).toEqual([['expired'], []]);
  });

  it('without terms has no end', async () => {
    const { clock, denials, permit } = open(() => ({}));
    permit.watch();
    await clock.advance(1_000_000_000);
    expect([denials, permit.hasExpired]).toEqual([[], false]);
  });
});

describe('the second in which a token ends', () => {
  const wall = (ms: number) => ({ wall: () => ms });
  const beyondSmallIntegers = 2 ** 31 * 1_000;

  it.each([1, 999, 1_000, 1_796_115_600_000, 1_796_115_600_999, beyondSmallIntegers - 1, beyondSmallIntegers + 5_500])(
    'has begun when the token is over, if it ends at %i',
    (expiresAtMs) => {
      expect(hasBegun(expirySecond({ expiresAtMs }), wall(expiresAtMs))).toBe(true);
      expect(hasBegun(expirySecond({ expiresAtMs }), wall(expiresAtMs + 3_600_000))).toBe(true);
    },
  );

  it('has not begun before, and never does without an end', () => {
    expect(hasBegun(expirySecond({ expiresAtMs: 5_500 }), wall(4_999))).toBe(false);
    expect(hasBegun(expirySecond({}), wall(beyondSmallIntegers * 2))).toBe(false);
  });

  it('is not looked at on the clock by who has no end', () => {
    const clock = manualClock();
    const looks = vi.spyOn(clock, 'wall');
    hasBegun(expirySecond({}), clock);
    expect(looks).not.toHaveBeenCalled();
  });
});
