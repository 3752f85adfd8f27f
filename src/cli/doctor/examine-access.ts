/** Who may: the clocks, the token, and the session to look at with whatever opens it. */
import type { Outcome, Wire } from './call.ts';
import { ask, bearer, problemOf, said } from './call.ts';
import type { Examination, Tell } from './examination.ts';
import { finding } from './finding.ts';
import type { Finding } from './finding.ts';
import { judgeClock, readTicket } from './judge-clock.ts';
import type { Reading } from './judge-clock.ts';
import { judgeToken, tokenMissing } from './judge-token.ts';
import { mintTicket, ticketIn } from './observe-reader.ts';
import type { Reader } from './observe-reader.ts';
import type { TokenObserved } from './observe-token.ts';
import { isOwnSession } from './own-session.ts';
import type { OwnSession, OwnSessions } from './own-session.ts';

export interface AccessOptions {
  readonly examination: Examination;
  readonly tell: Tell;
  /** One that the internal listener takes. */
  readonly key: string | undefined;
  readonly token: TokenObserved | undefined;
  readonly own: OwnSessions | undefined;
  readonly dates: readonly Reading[];
}

/** Where a reader stands. */
export interface Place {
  readonly session: string;
  readonly key: string | undefined;
  /** One that the gateway takes, for this session. */
  readonly token: string | undefined;
  /** What asking for a ticket on the public address was answered; undefined where no token is known. */
  readonly minted: Outcome | undefined;
  readonly reader: Reader;
  /** Undefined for a session that is only looked at. */
  readonly own: OwnSession | undefined;
}

/** Undefined where nothing can be read; why was told. */
export async function examineAccess(options: AccessOptions): Promise<Place | undefined> {
  const { examination, tell, key, token, dates } = options;
  const { wire, deployment } = examination;
  const { url, internalUrl } = deployment;
  const made = await options.own?.make();
  const own = made !== undefined && isOwnSession(made) ? made : undefined;
  const session = examination.session ?? own?.id;
  const described = await describeBy(wire, url, token, session);
  const isReached = described?.kind === 'answer' && described.status === 200;
  const minted =
    isReached && token !== undefined && session !== undefined
      ? await mintTicket(wire, url, session, token.text)
      : undefined;
  const byKey = await ticketByKey(wire, internalUrl, key, session);

  const clock = judgeClock([
    ...dates,
    ...(byKey === undefined ? [] : readTicket(byKey, undefined)),
    ...(minted === undefined ? [] : readTicket(minted, token?.claims?.expiresAtMs)),
  ]);
  await tell(...clock);
  const isClockOff = clock.some(({ name }) => name === 'clock_off');
  await tell(token === undefined ? tokenMissing() : judgeToken({ ...token, isClockOff, nowMs: wire.clock.wall() }));

  if (made !== undefined && !isOwnSession(made)) {
    await tell(refusedSession(made));
    return undefined;
  }
  // Any other refusal is no word of a gateway that lacks the session; the stream tells more of it.
  const isUnknown = described !== undefined && problemOf(described)?.code === 'session_unknown';
  if (own !== undefined && isUnknown && patternsReach(token, own.id)) {
    await tell(twoDeployments(described));
    return undefined;
  }
  const ownToken = isReached ? token?.text : undefined;
  const credential = credentialOf(ownToken, ticketIn(byKey));
  if (session === undefined || credential === undefined) {
    await tell(sessionMissing(examination.session));
    return undefined;
  }
  return { session, key, token: ownToken, minted, reader: { url, session, credential }, own };
}

/** The session as the public address answers for it, where a token could reach it. */
const describeBy = (
  wire: Wire,
  url: string,
  token: TokenObserved | undefined,
  session: string | undefined,
): Promise<Outcome | undefined> =>
  token?.isAccepted !== true || session === undefined
    ? Promise.resolve(undefined)
    : ask(wire, { url, path: `/sessions/${session}`, headers: bearer(token.text) });

const patternsReach = (token: TokenObserved | undefined, session: string): boolean =>
  token?.claims?.sessions.some((pattern) =>
    pattern.endsWith('*') ? session.startsWith(pattern.slice(0, -1)) : pattern === session,
  ) ?? false;

/** A ticket stands in for a token that does not reach the session. */
function credentialOf(token: string | undefined, ticket: string | undefined): Reader['credential'] | undefined {
  if (token !== undefined) return { kind: 'token', text: token };
  return ticket === undefined ? undefined : { kind: 'ticket', text: ticket };
}

const ticketByKey = (
  wire: Wire,
  url: string | undefined,
  key: string | undefined,
  session: string | undefined,
): Promise<Outcome | undefined> =>
  url === undefined || key === undefined || session === undefined
    ? Promise.resolve(undefined)
    : mintTicket(wire, url, session, key);

const refusedSession = (made: Outcome): Finding =>
  finding(
    'session_refused',
    `a session of the doctor's own could not be made: ${said(made)}`,
    'look into the log of the gateway; or name one with --session',
  );

const twoDeployments = (described: Outcome): Finding =>
  finding(
    'two_deployments',
    `a session that was made at the internal listener is answered ${said(described)} at the public address`,
    'LEDGERLINE_INTERNAL_URL must be of the same deployment: all its gateways have one DATABASE_URL',
  );

const sessionMissing = (session: string | undefined): Finding =>
  session === undefined
    ? finding(
        'session_missing',
        'no session to look at: streams were not',
        'set LEDGERLINE_INTERNAL_URL and LEDGERLINE_KEY, or a token with the scopes create and write; or name a session with --session',
      )
    : finding(
        'session_missing',
        `nothing here opens ${session}: its stream was not looked at`,
        'set a token that reaches it',
      );
