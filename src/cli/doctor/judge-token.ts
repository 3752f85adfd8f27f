/** Does the gateway take the token; and if not, is it the token, its time, or the secret (pure)? */
import { limits } from '../../base/limits.ts';
import { problemOf, said } from './call.ts';
import type { Outcome } from './call.ts';
import type { Claims } from './claims.ts';
import { finding } from './finding.ts';
import type { Finding } from './finding.ts';

export interface TokenSeen {
  /** Undefined for what is no JWT. */
  readonly claims: Claims | undefined;
  /** Made here by LEDGERLINE_TOKEN_SECRET, which is otherwise only compared with. */
  readonly isMinted: boolean;
  /** It verifies by the secret that is known here; undefined where none is. */
  readonly verifiesHere: boolean | undefined;
  /** The list of sessions, asked for with it. */
  readonly tried: Outcome;
  /** Then its times are judged otherwise there than here. */
  readonly isClockOff: boolean;
  readonly nowMs: number;
}

export const tokenMissing = (): Finding =>
  finding(
    'token_missing',
    'no token is known here',
    'set LEDGERLINE_TOKEN (mint one with `ledgerline token --scope "read create write"`) or LEDGERLINE_TOKEN_SECRET',
  );

export function judgeToken(seen: TokenSeen): Finding {
  const { claims, tried } = seen;
  const whose = seen.isMinted ? 'a token signed with LEDGERLINE_TOKEN_SECRET' : 'the token';
  if (tried.kind === 'answer' && tried.status === 200) return finding('token_accepted', `the gateway takes ${whose}`);
  const problem = problemOf(tried);
  if (problem?.code === 'forbidden') {
    return finding(
      'scope_missing',
      `the gateway knows ${whose}, but it may not read`,
      'mint one with the scope read: ledgerline token --scope read',
    );
  }
  if (problem?.code !== 'unauthorized') {
    return finding(
      'token_refused',
      `asked with ${whose}, the gateway answers ${said(tried)}`,
      'look into its log for that request',
    );
  }
  if (claims === undefined) {
    return finding(
      'token_malformed',
      'LEDGERLINE_TOKEN is no JWT',
      'mint one: ledgerline token, or as the README shows',
    );
  }
  if (claims.missing.length > 0) {
    return finding(
      'token_malformed',
      `the token lacks ${claims.missing.join(', ')}`,
      'mint one with all claims that docs/PROTOCOL.md requires',
    );
  }
  return judgeTimes(seen, claims, problem.detail) ?? judgeSignature(seen, claims, whose);
}

function judgeTimes({ nowMs, isClockOff }: TokenSeen, claims: Claims, detail: string): Finding | undefined {
  const { issuedAtMs = 0, notBeforeMs = 0, expiresAtMs = Infinity } = claims;
  const latestMs = nowMs + limits.tokenToleranceMs;
  if (expiresAtMs < nowMs - limits.tokenToleranceMs) {
    return finding(
      'token_expired',
      `the token is over since ${new Date(expiresAtMs).toISOString()}`,
      'mint another one',
    );
  }
  if (isClockOff) {
    return finding('token_refused', 'the token is refused there, where the clock is off', 'set the clocks first');
  }
  // Said of a token whose signature holds: its maker's clock is ahead of the gateway's.
  if (detail.includes('issued in the future') || issuedAtMs > latestMs || notBeforeMs > latestMs) {
    return finding(
      'clock_off',
      "the token is refused as one of the future: its maker's clock is ahead of the gateway's",
      'set both clocks by NTP; they may differ by 5 s',
    );
  }
  if (detail.includes('revoked')) return finding('token_refused', 'the token was revoked', 'mint another one');
  return undefined;
}

function judgeSignature({ isMinted, verifiesHere }: TokenSeen, { algorithm }: Claims, whose: string): Finding {
  if (isMinted || verifiesHere === true) {
    return finding(
      'token_refused',
      `the gateway refuses ${isMinted ? whose : 'the token, which LEDGERLINE_TOKEN_SECRET has signed'}: it has another secret, or none`,
      'give the gateway this LEDGERLINE_TOKEN_SECRET (or this one as LEDGERLINE_TOKEN_SECRET_PREVIOUS); compare LEDGERLINE_TOKEN_ISSUER and _AUDIENCE, too',
    );
  }
  if (verifiesHere === false) {
    return finding(
      'token_refused',
      'the token was not signed with LEDGERLINE_TOKEN_SECRET as it is set here, and the gateway refuses it',
      'mint one with the secret of the gateway',
    );
  }
  return finding(
    'token_refused',
    `the gateway refuses the token (${algorithm}): its signature, issuer or audience is not what it wants`,
    algorithm === 'HS256'
      ? 'sign it with LEDGERLINE_TOKEN_SECRET of the gateway; with that set here, the doctor can tell which of the two is wrong'
      : 'check LEDGERLINE_JWKS_URL, LEDGERLINE_TOKEN_ISSUER and LEDGERLINE_TOKEN_AUDIENCE of the gateway; its log says when keys cannot be read',
  );
}
