/** POST /sessions/:session/tickets: what a page's own EventSource opens the stream with, since it can send no header. */
import { z } from 'zod';
import { randomId } from '../base/clock.ts';
import { LedgerlineError } from '../base/errors.ts';
import { subjectShape } from './auth.ts';
import type { Credential } from './auth.ts';
import { shapedBody } from './body.ts';
import type { ReadJsonBody } from './body.ts';
import type { SessionHandler } from './door.ts';
import { json } from './openapi/operation.ts';
import type { Operation } from './openapi/operation.ts';
import { timeShape } from './openapi/shapes.ts';
import type { Tickets } from './ticket.ts';

const orderShape = z
  .strictObject({
    /** For internal callers; a token's tickets are its own subject's. */
    subject: subjectShape.optional(),
  })
  .meta({ id: 'TicketOrder', examples: [{ subject: 'maya' }] });

const ticketShape = z
  .object({ ticket: z.string(), expiresAt: timeShape })
  .meta({ id: 'Ticket', examples: [{ ticket: 'eyJhbGciOiJIUzI1NiJ9', expiresAt: '2026-11-30T04:05:00.000Z' }] });

export const ticketOperation = {
  id: 'createTicket',
  group: 'Access',
  summary: 'Ask for a ticket',
  description:
    'It opens the stream of the session for five minutes, in its address: `/sessions/run-42/stream?ticket=…`. Whether there is such a session is for the stream to say: a ticket may be had before it is created.',
  scope: 'read',
  isBlind: true,
  body: { isOptional: true, contents: json(orderShape) },
  answers: { 201: { description: 'The ticket, and its end.', contents: json(ticketShape) } },
} as const satisfies Operation;

export function ticketRoute(tickets: Pick<Tickets, 'mint'>, readJsonBody: ReadJsonBody): SessionHandler {
  return async (c, { session, credential }) => {
    const body = await readJsonBody(c, 'bodyBytes');
    const { subject } = body.length === 0 ? {} : shapedBody(orderShape, body);
    const { ticket, expiresAtMs } = await tickets.mint(holder(credential, subject), session);
    const expiresAt = new Date(expiresAtMs).toISOString();
    return c.json({ ticket, expiresAt } satisfies z.infer<typeof ticketShape>, 201);
  };
}

/**
 * The key asks for others, each of whom is somebody: were all of them one subject, the pass of one would open with the old
 * address of another, and to revoke one were to revoke all.
 */
function holder(credential: Credential, subject: string | undefined): Credential {
  if (credential.isInternal) return { ...credential, subject: subject ?? randomId() };
  if (subject === undefined) return credential;
  throw new LedgerlineError('malformed', 'only an internal caller names the subject', { where: 'subject' });
}
