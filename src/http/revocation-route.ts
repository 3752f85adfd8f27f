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
import { json } from './openapi/operation.ts';
import type { Operation } from './openapi/operation.ts';
import { timeShape } from './openapi/shapes.ts';

const orderShape = z
  .strictObject({
    jti: tokenIdShape.optional().describe('One token.'),
    sub: subjectShape.optional().describe('Every token issued so far to this subject.'),
    session: sessionIdShape.optional().describe('Every token issued so far for this session alone.'),
    until: z.iso
      .datetime({ offset: true, message: 'until is a time such as 2026-11-30T04:00:00Z' })
      .optional()
      .describe('How long it is remembered; left out, longer than any token can live.'),
  })
  .meta({ id: 'Revocation', description: 'One of `jti`, `sub` and `session`.', examples: [{ sub: 'maya' }] });

const revokedShape = z
  .object({ revokedAt: timeShape, until: timeShape })
  .meta({ id: 'Revoked', examples: [{ revokedAt: '2026-11-30T04:00:00.000Z', until: '2027-12-02T04:00:00.000Z' }] });

export const revocationOperation = {
  id: 'revoke',
  group: 'Access',
  summary: 'Revoke tokens',
  description: 'They then open nothing on any gateway within 5 s, and their open streams end.',
  scope: 'write',
  body: { contents: json(orderShape) },
  answers: { 201: { description: 'They are revoked.', contents: json(revokedShape) } },
} as const satisfies Operation;

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
    const answer: z.infer<typeof revokedShape> = {
      revokedAt: new Date(revokedAtMs).toISOString(),
      until: new Date(untilMs).toISOString(),
    };
    return c.json(answer, 201);
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
