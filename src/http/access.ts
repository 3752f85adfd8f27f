/** How the public listener and the internal one let in: each by its own credential, and both by what was revoked since. */
import type { Limiter } from '../access/limiter.ts';
import type { Revocations } from '../access/revocations.ts';
import type { Clock } from '../base/clock.ts';
import { keyAuthentication, standing, ticketAuthentication, tokenAuthentication } from './authenticate.ts';
import type { Authenticate } from './authenticate.ts';
import type { CookieRules } from './cookie.ts';
import { createTickets } from './ticket.ts';
import type { Tickets } from './ticket.ts';
import { createTokenVerifier } from './token-verifier.ts';
import type { TokenTerms } from './token-verifier.ts';

export interface AccessOptions extends TokenTerms {
  /** What the keys of tickets are derived from, the newest first. */
  readonly ticketSecrets: readonly Uint8Array[];
  readonly cookies: CookieRules;
  readonly internalKey: string;
  readonly allowedOrigins: readonly string[];
  readonly revocations: Revocations;
  readonly limiter: Limiter;
}

/** Of one listener. */
export interface Entrance {
  readonly authenticate: Authenticate;
  /** For the stream, which a ticket opens, too. */
  readonly authenticateStream: Authenticate;
}

export interface Access {
  readonly publicEntrance: Entrance;
  readonly internalEntrance: Entrance;
  readonly tickets: Tickets;
}

export function createAccess(options: AccessOptions, clock: Clock): Access {
  const { allowedOrigins, cookies } = options;
  const tickets = createTickets(options.ticketSecrets, clock);
  const byToken = tokenAuthentication(createTokenVerifier(options, clock), allowedOrigins);
  const byKey = keyAuthentication(options.internalKey);
  return {
    tickets,
    publicEntrance: {
      authenticate: standing(byToken, options),
      authenticateStream: standing(ticketAuthentication(byToken, tickets, cookies), options),
    },
    internalEntrance: { authenticate: byKey, authenticateStream: byKey },
  };
}
