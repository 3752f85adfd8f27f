/** POST /internal/revocations: ends tokens before their time, by their id, by whose they are, or for a session. */
import { z } from 'zod';
import { revocationKinds } from '../access/revocation-set.ts';
import type { Revocations } from '../access/revocations.ts';
import { accessLimits } from '../base/access-limits.ts';
import type { Clock } from '../base/clock.ts';
import { LedgerlineError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { sessionIdShape } from '../event/event.ts';
import { subjectShape, tokenIdShape } from './auth.ts';
import { shapedBody } from './body.ts';
import type { ReadJsonBody } from './body.ts';
import type { GateHandler } from './door.ts';

const orderShape = z.strictObject({
  jti: tokenIdShape.optional(),
  sub: subjectShape.optional(),
  session: sessionIdShape.optional(),
  until: z.iso.datetime({ offset: true, message: 'until is a time such as 2026-11-30T04:00:00Z' }).optional(),
});

export interface RevocationRouteOptions {
  readonly revocations: Pick<Revocations, 'revoke'>;
  readonly clock: Clock;
  readonly readJsonBody: ReadJsonBody;
}

export function revocationRoute({ revocations, clock, readJsonBody }: RevocationRouteOptions): GateHandler {
  return async (c) => {
    const order = shapedBody(orderShape, await readJsonBody(c, 'bodyBytes'));
    const named = revocationKinds.flatMap((kind) => (order[kind] === undefined ? [] : [{ kind, value: order[kind] }]));
    const [what] = named;
    if (what === undefined || named.length > 1) {
      throw new LedgerlineError('malformed', 'one of jti, sub and session says what is revoked', { where: 'body' });
    }
    const { revokedAtMs, untilMs } = await revocations.revoke({ ...what, ...untilOf(order.until, clock.wall()) });
    return c.json({ revokedAt: new Date(revokedAtMs).toISOString(), until: new Date(untilMs).toISOString() }, 201);
  };
}

/** Usually the token's own end, behind which it is still taken for a moment. */
function untilOf(text: string | undefined, nowMs: number): { untilMs?: number } {
  if (text === undefined) return {};
  const untilMs = Date.parse(text);
  if (untilMs > nowMs && untilMs <= nowMs + accessLimits.revocationMs)
    return { untilMs: untilMs + limits.tokenToleranceMs };
  throw new LedgerlineError('malformed', 'until is a time to come, at most 367 days ahead', { where: 'until' });
}
