/** The stream as readers have it, and the lines of producers: opened, written to, come back to, and left in quiet. */
import { ask, bearer, said } from './call.ts';
import type { Outcome, Wire } from './call.ts';
import type { Place } from './examine-access.ts';
import type { Examination, Tell } from './examination.ts';
import { finding, inWords } from './finding.ts';
import type { Finding } from './finding.ts';
import { judgeDelivery } from './judge-delivery.ts';
import { judgeLines } from './judge-lines.ts';
import { judgeResume } from './judge-resume.ts';
import { judgeEncoding, judgeStreamHead } from './judge-stream.ts';
import { judgeTicket } from './judge-ticket.ts';
import { judgeWatch } from './judge-watch.ts';
import { observeDelivery } from './observe-delivery.ts';
import { observeLines } from './observe-lines.ts';
import { observeResume, observeTicket, observeWatch, openStream } from './observe-reader.ts';
import type { Reader } from './observe-reader.ts';

export interface StreamOptions {
  readonly examination: Examination;
  readonly tell: Tell;
  readonly place: Place;
}

export async function examineStream({ examination, tell, place }: StreamOptions): Promise<void> {
  const { wire } = examination;
  const isServed = await examineDelivery(wire, place, tell);
  await examineLines(examination, place, tell);
  if (!isServed) {
    const rest = 'coming back, tickets and a quiet stream were not looked at';
    return tell(finding('held_back_first', rest, 'mend what holds the stream back, and ask again'));
  }
  await examineTicket(examination, place, tell);
  await examineResume(wire, place, tell);
  await examineWatch(examination, place.reader, tell);
}

/** False where a stream is of no use for what follows. */
async function examineDelivery(wire: Wire, { reader, own }: Place, tell: Tell): Promise<boolean> {
  const stream = openStream(wire, reader);
  try {
    const { delivery, refused } = await observeDelivery(wire, stream, own);
    const { head } = stream;
    const findings =
      head === undefined ? [] : [...judgeStreamHead(head), ...(head.status === 200 ? judgeEncoding(head) : [])];
    await tell(...findings);
    if (head !== undefined && head.status !== 200) return false;
    if (refused !== undefined) {
      await tell(appendRefused(refused));
      return true;
    }
    const judged = judgeDelivery(delivery, wire.times);
    await tell(judged);
    // A cut leaves the next stream whole, and the watch tells more of it.
    return judged.severity !== 'fault' || judged.name === 'stream_cut';
  } finally {
    stream.close();
  }
}

const appendRefused = (refused: Outcome): Finding =>
  finding('append_refused', `an append is answered ${said(refused)}`, 'look into the log of the gateway');

/** On a session that is written to anyway. */
async function examineLines(
  { wire, deployment }: Examination,
  { own, key, session }: Place,
  tell: Tell,
): Promise<void> {
  const { internalUrl: url } = deployment;
  if (own === undefined || key === undefined || url === undefined) return;
  await tell(judgeLines(await observeLines(wire, { url, key, session })));
}

async function examineTicket({ wire, deployment, origin }: Examination, place: Place, tell: Tell): Promise<void> {
  const { minted, session, token } = place;
  if (minted === undefined) return;
  await tell(...judgeTicket(await observeTicket(wire, { url: deployment.url, session, minted, token, origin })));
}

async function examineResume(wire: Wire, place: Place, tell: Tell): Promise<void> {
  const head = await headOf(wire, place);
  if (head > 0) return tell(...judgeResume(await observeResume(wire, place.reader, head)));
  await tell(
    finding(
      'resume_unseen',
      'whether a reader goes on where it was cannot be told of a session without events',
      'set LEDGERLINE_INTERNAL_URL and LEDGERLINE_KEY, or name a session that has some with --session',
    ),
  );
}

/** Of a ticket's session as its own stream tells it, for a ticket opens nothing else. */
async function headOf(wire: Wire, { reader, token }: Place): Promise<number> {
  const { url, session } = reader;
  if (token !== undefined) {
    const outcome = await ask(wire, { url, path: `/sessions/${session}`, headers: bearer(token) });
    return outcome.kind === 'none' ? 0 : numberIn(outcome.text);
  }
  const stream = openStream(wire, reader);
  await stream.until(() => stream.first('hello') !== undefined, wire.times.heldBackMs);
  stream.close();
  return numberIn(stream.first('hello')?.data ?? '');
}

const numberIn = (text: string): number => Number(/"head":(\d+)/.exec(text)?.[1] ?? '0');

async function examineWatch({ wire, isQuick, watching }: Examination, reader: Reader, tell: Tell): Promise<void> {
  if (isQuick) {
    const takes = inWords(wire.times.watchMs);
    return tell(finding('watch_left_out', `a quiet stream was not watched, which takes ${takes}`, 'leave out --quick'));
  }
  await tell(judgeWatch(await observeWatch(wire, reader, watching), wire.times));
}
