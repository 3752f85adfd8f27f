/** Tickets and passes: what stands for a token where only an address and a cookie can go; signed, and kept nowhere. */
import { createSecretKey, hkdfSync } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { SignJWT, jwtVerify } from 'jose';
import { z } from 'zod';
import { accessLimits } from '../base/access-limits.ts';
import { assert } from '../base/assert.ts';
import { randomId } from '../base/clock.ts';
import type { Clock } from '../base/clock.ts';
import { sessionIdShape } from '../event/event.ts';
import { subjectShape, tokenIdShape } from './auth.ts';
import type { Credential } from './auth.ts';

/** A ticket opens a stream for five minutes; a pass is what the browser comes back with, until the token's end. */
type Kind = 'ticket' | 'pass';

export interface Ticket {
  readonly ticket: string;
  readonly expiresAtMs: number;
}

export interface Redeemed {
  readonly credential: Credential;
  /** To be kept by the browser; only a ticket that still holds brings one. */
  readonly pass: { readonly text: string; readonly maxAgeSeconds: number } | undefined;
}

export interface Tickets {
  mint(credential: Credential, session: string): Promise<Ticket>;
  /** Undefined for whatever opens nothing. */
  redeem(session: string, ticket: string, pass: string | undefined): Promise<Redeemed | undefined>;
}

const claimsShape = z.object({
  session: sessionIdShape,
  sub: subjectShape,
  jti: tokenIdShape,
  exp: z.number(),
  /** When the token was issued, and when what it opens ends, in milliseconds. */
  issuedAtMs: z.number().optional(),
  endsAtMs: z.number(),
});
type Claims = z.infer<typeof claimsShape>;

/** Signed with a key that is derived from the first secret; those of the others still verify. */
export function createTickets(secrets: readonly Uint8Array[], clock: Clock): Tickets {
  const keys = secrets.map(derive);
  const [newest] = keys;
  assert(newest !== undefined, 'tickets are signed with some secret');

  const sign = (kind: Kind, { exp, sub, jti, ...claims }: Claims): Promise<string> =>
    new SignJWT(claims)
      .setProtectedHeader({ alg: 'HS256', typ: typeOf(kind) })
      .setAudience(audienceOf(kind))
      .setSubject(sub)
      .setJti(jti)
      .setExpirationTime(exp)
      .sign(newest);

  /** What it says if it was signed here, whether or not its time is over. */
  async function read(kind: Kind, text: string): Promise<Claims | undefined> {
    if (text.length > accessLimits.tokenLength) return undefined;
    for (const key of keys) {
      try {
        const { payload } = await jwtVerify(text, key, {
          algorithms: ['HS256'],
          typ: typeOf(kind),
          audience: audienceOf(kind),
          // No end is behind this date.
          currentDate: new Date(0),
        });
        return claimsShape.parse(payload);
      } catch {
        // Not by this key; why not is nobody's business.
      }
    }
    return undefined;
  }

  return {
    async mint({ subject, identity, expiresAtMs }, session) {
      const nowMs = clock.wall();
      const endsAtMs = expiresAtMs ?? nowMs + accessLimits.keyTicketMs;
      const exp = Math.floor(Math.min(nowMs + accessLimits.ticketMs, endsAtMs) / 1_000);
      const { jti = randomId(), issuedAtMs = identity === undefined ? nowMs : undefined } = identity ?? {};
      const ticket = await sign('ticket', {
        session,
        sub: subject,
        jti,
        exp,
        endsAtMs,
        ...(issuedAtMs === undefined ? {} : { issuedAtMs }),
      });
      return { ticket, expiresAtMs: exp * 1_000 };
    },
    async redeem(session, text, passText) {
      const ticket = await read('ticket', text);
      if (ticket?.session !== session) return undefined;
      const nowMs = clock.wall();
      if (holds(ticket, nowMs)) {
        const exp = Math.floor(ticket.endsAtMs / 1_000);
        const maxAgeSeconds = Math.max(0, exp - Math.floor(nowMs / 1_000));
        return {
          credential: credentialOf(ticket),
          pass: { text: await sign('pass', { ...ticket, exp }), maxAgeSeconds },
        };
      }
      // The address alone opens nothing any more, and neither does the cookie of somebody else.
      const pass = passText === undefined ? undefined : await read('pass', passText);
      const isOwn = pass?.session === session && pass.sub === ticket.sub && holds(pass, nowMs);
      return isOwn ? { credential: credentialOf(pass), pass: undefined } : undefined;
    },
  };
}

const derive = (secret: Uint8Array): KeyObject =>
  createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', 'ledgerline tickets v1', 32)));

const typeOf = (kind: Kind): string => `ledgerline-${kind}+jwt`;
const audienceOf = (kind: Kind): string => `ledgerline:${kind}`;

const holds = ({ exp, endsAtMs }: Claims, nowMs: number): boolean => exp * 1_000 > nowMs && endsAtMs > nowMs;

/** It reads the one session, whatever else the token may do. */
const credentialOf = ({ sub, jti, issuedAtMs, session, endsAtMs }: Claims): Credential => ({
  subject: sub,
  isInternal: false,
  identity: { jti, sub, issuedAtMs },
  sessions: [session],
  scope: new Set(['read']),
  owner: undefined,
  expiresAtMs: endsAtMs,
});
