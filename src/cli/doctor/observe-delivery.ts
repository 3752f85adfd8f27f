/** Writes events one by one while a reader listens, and where one is held back, more and more until it comes. */
import type { Wire } from './call.ts';
import type { DeliverySeen, Release } from './judge-delivery.ts';
import type { Listening } from './listen.ts';
import type { OwnSession } from './own-session.ts';

export interface DeliveryObserved {
  readonly delivery: DeliverySeen;
  /** An append that was refused: then nothing can be said of its delivery. */
  readonly refused: Awaited<ReturnType<OwnSession['append']>>['outcome'] | undefined;
}

/** `own` is undefined for a session that is only looked at. It may be closed afterwards. */
export async function observeDelivery(
  { times }: Wire,
  stream: Listening,
  own: OwnSession | undefined,
): Promise<DeliveryObserved> {
  const isHere = await stream.until(() => stream.first('connected') !== undefined, times.heldBackMs);
  const seen = {
    headersMs: stream.head?.atMs,
    firstMs: stream.first('connected')?.atMs,
    planned: own?.mayAppend === true ? times.probeEvents : 0,
  };
  const delaysMs: number[] = [];
  while (isHere && delaysMs.length < seen.planned && own !== undefined) {
    const { sequence, outcome } = await own.append(0);
    if (sequence === undefined)
      return { delivery: { ...seen, delaysMs, release: undefined, end: stream.end }, refused: outcome };
    const committedMs = stream.now();
    const arrived = () => stream.frames.find(({ name, id }) => name === 'event' && id === String(sequence));
    await stream.until(() => arrived() !== undefined, times.heldBackMs);
    const atMs = arrived()?.atMs;
    if (atMs === undefined) break;
    // The event may overtake the answer to its append.
    delaysMs.push(Math.max(0, atMs - committedMs));
  }
  const isWhole = isHere && delaysMs.length === seen.planned;
  if (!isWhole && stream.end !== undefined) {
    return { delivery: { ...seen, delaysMs, release: undefined, end: stream.end }, refused: undefined };
  }
  const release = isWhole ? undefined : await findRelease(times, stream, own);
  return { delivery: { ...seen, delaysMs, release, end: undefined }, refused: undefined };
}

/** Each portion is twice the one before; then the session is closed, which ends the stream. */
async function findRelease(
  { firstPortionBytes, lastPortionBytes, portionMs, heldBackMs }: Wire['times'],
  stream: Listening,
  own: OwnSession | undefined,
): Promise<Release> {
  if (own === undefined) return { kind: 'unknown' };
  const before = stream.bytes;
  const isLetGo = (): boolean => stream.bytes > before;
  let written = 0;
  for (let portion = firstPortionBytes; own.mayAppend && portion <= lastPortionBytes; portion *= 2) {
    await own.append(portion);
    written += portion;
    if (await stream.until(isLetGo, portionMs)) return { kind: 'bytes', bytes: written };
  }
  await own.close();
  if (await stream.until(isLetGo, heldBackMs)) return { kind: 'end' };
  return { kind: 'never' };
}
