/** POST /sessions/:session/tickets: what a page's own EventSource opens the stream with, since it can send no header. */
import type { SessionHandler } from './door.ts';
import type { Tickets } from './ticket.ts';

export function ticketRoute(tickets: Pick<Tickets, 'mint'>): SessionHandler {
  return async (c, { session, credential }) => {
    const { ticket, expiresAtMs } = await tickets.mint(credential, session);
    return c.json({ ticket, expiresAt: new Date(expiresAtMs).toISOString() }, 201);
  };
}
