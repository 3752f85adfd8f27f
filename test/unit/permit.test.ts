/** A stream ends when its token does, by its time or by a revocation, and lets go of whatever would have told it. */
import { describe, expect, it } from 'vitest';
import { Permit } from '../../src/room/permit.ts';
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
