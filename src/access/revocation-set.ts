/** Which tokens no longer hold, in memory (pure): asked at every request, and in every open stream when it grows. */
import { storable } from '../event/storable.ts';

export const revocationKinds = ['jti', 'sub', 'session'] as const;
export type RevocationKind = (typeof revocationKinds)[number];

export interface Revocation {
  readonly kind: RevocationKind;
  readonly value: string;
  /** By the database's clock. */
  readonly revokedAtMs: number;
  /** Behind it no token can be alive that it is about. */
  readonly untilMs: number;
}

/** What of a token can be revoked. */
export interface TokenIdentity {
  readonly jti: string;
  readonly sub: string;
  /** By its issuer's clock. */
  readonly issuedAtMs: number | undefined;
}

type Entry = Pick<Revocation, 'revokedAtMs' | 'untilMs'>;

export class RevocationSet {
  readonly #entries: Readonly<Record<RevocationKind, Map<string, Entry>>> = {
    jti: new Map(),
    sub: new Map(),
    session: new Map(),
  };

  get size(): number {
    return revocationKinds.reduce((sum, kind) => sum + this.#entries[kind].size, 0);
  }

  add({ kind, value, revokedAtMs, untilMs }: Revocation): void {
    this.#entries[kind].set(storable(value), { revokedAtMs, untilMs });
  }

  /** Whether the token is revoked as a whole. */
  covers({ jti, sub, issuedAtMs }: TokenIdentity): boolean {
    const { jti: byId, sub: bySubject } = this.#entries;
    return byId.has(storable(jti)) || isBefore(issuedAtMs, bySubject.get(storable(sub)));
  }

  /** Whether it is revoked for this session. */
  coversIn({ issuedAtMs }: TokenIdentity, session: string): boolean {
    return isBefore(issuedAtMs, this.#entries.session.get(session));
  }

  /** What is over is about tokens that are over, too. */
  forget(nowMs: number): void {
    for (const kind of revocationKinds) {
      for (const [value, { untilMs }] of this.#entries[kind]) {
        if (untilMs <= nowMs) this.#entries[kind].delete(value);
      }
    }
  }
}

/**
 * A token says in whole seconds when it was issued, so one of the revocation's own second counts as issued before it, and so
 * does one that says nothing.
 */
function isBefore(issuedAtMs: number | undefined, entry: Entry | undefined): boolean {
  return entry !== undefined && (issuedAtMs === undefined || issuedAtMs <= entry.revokedAtMs);
}
