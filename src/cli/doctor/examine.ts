/** The whole diagnosis: each check after the other, each told as soon as it is made, and nothing left behind. */
import { LedgerlineError } from '../../base/errors.ts';
import { isLedgerline } from './call.ts';
import type { Wire } from './call.ts';
import type { Deployment } from './deployment.ts';
import type { Examination, Tell } from './examination.ts';
import { examineAccess } from './examine-access.ts';
import { examineStream } from './examine-stream.ts';
import { finding } from './finding.ts';
import type { Finding } from './finding.ts';
import { readDate } from './judge-clock.ts';
import { judgeExposure, judgeInternal } from './judge-internal.ts';
import type { InternalSeen } from './judge-internal.ts';
import { judgeOrigin } from './judge-origin.ts';
import { judgeReadiness, judgeServer } from './judge-server.ts';
import { judgeTransport } from './judge-transport.ts';
import { observeOrigin } from './observe-reader.ts';
import {
  observeExposure,
  observeInternal,
  observeReadiness,
  observeServer,
  observeTransport,
} from './observe-server.ts';
import { observeToken } from './observe-token.ts';
import { createOwnSessions, operatorOf } from './own-session.ts';

/** Rejects with `unavailable` when it was interrupted; what is wrong with the deployment is told. */
export async function examine(examination: Examination): Promise<void> {
  const { deployment, wire, session } = examination;
  const tell: Tell = async (...findings) => {
    if (wire.stop.aborted) throw new LedgerlineError('unavailable', 'interrupted before everything was looked at');
    for (const each of findings) await examination.tell(each);
  };

  const server = await observeServer(wire, deployment);
  await tell(judgeServer(server));
  const internal = await lookInside(wire, deployment);
  await tell(...(internal === undefined ? [internalUnknown()] : judgeInternal(internal)));
  if (!isLedgerline(server.door)) return;
  await examineAround(examination, tell);

  const key = internal?.keyed?.kind === 'answer' && internal.keyed.status === 200 ? deployment.key : undefined;
  const token = await observeToken(wire, deployment, session);
  const operator = session === undefined ? operatorOf(deployment, key, token) : undefined;
  const own = operator && createOwnSessions(wire, operator);
  try {
    const dates = [
      ...readDate(server.door, 'the header Date', false),
      ...(internal === undefined ? [] : readDate(internal.health, 'the header Date of the internal listener', true)),
    ];
    const place = await examineAccess({ examination, tell, key, token, own, dates });
    if (place !== undefined) await examineStream({ examination, tell, place });
  } finally {
    const left = (await own?.removeAll()) ?? [];
    if (left.length > 0) await examination.tell(sessionLeft(left));
  }
}

/** What is to be seen without a credential. */
async function examineAround({ wire, deployment, origin }: Examination, tell: Tell): Promise<void> {
  await tell(judgeReadiness(await observeReadiness(wire, deployment)));
  await tell(...judgeTransport(await observeTransport(wire, deployment)));
  await tell(judgeExposure(await observeExposure(wire, deployment)));
  if (origin !== undefined) await tell(judgeOrigin(await observeOrigin(wire, deployment.url, origin)));
}

const lookInside = (wire: Wire, { internalUrl, key }: Deployment): Promise<InternalSeen | undefined> =>
  internalUrl === undefined ? Promise.resolve(undefined) : observeInternal(wire, internalUrl, key);

const internalUnknown = (): Finding =>
  finding(
    'internal_unknown',
    'the internal listener was not looked at, nor what producers see',
    'set LEDGERLINE_INTERNAL_URL and LEDGERLINE_KEY',
  );

const sessionLeft = (left: readonly string[]): Finding =>
  finding('session_left', `could not be deleted: ${left.join(', ')}`, 'DELETE /sessions/ID, with the scope write');
