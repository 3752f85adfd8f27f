/** A message comes in: its event, its number and its wish for an answer are one transaction [I10]. */
import { createHash } from 'node:crypto';
import { assert } from '../base/assert.ts';
import { LedgerlineError } from '../base/errors.ts';
import { traced } from '../event/trace.ts';
import { noteActivity } from '../ledger/session-row.ts';
import type { Move, TurnHead } from '../ledger/turn-head.ts';
import { addRequest, takeKey } from './request-row.ts';
import { stopCurrent } from './stop.ts';
import type { Work } from './transaction.ts';
import { turnEvent } from './turn-event.ts';
import type { AcceptedMessage, Message } from './turns.ts';
import { isUnderWay, lockOpenHead, readKnownHead, turnBusy } from './under-lock.ts';

/** How long a turn waits for further messages of its sender: after each, and at most after the first. */
export interface Debounce {
  readonly debounceMs: number;
  readonly debounceCapMs: number;
}

export async function request(work: Work, message: Message, debounce: Debounce): Promise<AcceptedMessage> {
  const { tx } = work;
  const { session, key, content, by, onBusy, traceparent } = message;
  const known = await takeKey(tx, session, key, hashOf(content));
  if (known !== 'taken') {
    if (!known.isSame) throw keyTaken(known.sequence);
    const { turnState } = await readKnownHead(tx, session); // also of a session that was closed meanwhile
    return { sequence: known.sequence, isRepeat: true, state: turnState };
  }

  let head = await lockOpenHead(tx, session);
  if (onBusy === 'reject' && isUnderWay(head)) throw turnBusy(head);
  if (onBusy === 'interrupt' && isUnderWay(head)) {
    await stopCurrent(work, head, 'interrupt', by);
    head = await lockOpenHead(tx, session); // as that left it
  }
  const move = arming(head, debounce);
  const created = turnEvent('message.created', { key, role: 'user', content, by, onBusy });
  const stored = await work.move(head, move, traced([created], traceparent));
  assert(stored !== undefined, 'a message is an event');
  await Promise.all([
    addRequest(tx, session, { key, sequence: stored.first, isSteering: onBusy === 'steer' }),
    noteActivity(tx, session),
  ]);
  if (move.to === 'ready') work.wake({ kind: 'ready', inMs: move.inMs });
  return { sequence: stored.first, isRepeat: false, state: move.to === 'ready' ? 'ready' : head.turnState };
}

/** An idle session becomes ready; one that is ready for a new turn waits a little more; a turn that is under way goes on. */
function arming(head: TurnHead, { debounceMs, debounceCapMs }: Debounce): Move {
  if (head.turnState === 'idle') return { to: 'ready', turn: undefined, inMs: debounceMs };
  return isUnderWay(head) ? { to: 'stays' } : { to: 'debounced', byMs: debounceMs, capMs: debounceCapMs };
}

/** Of the text as it would be printed: a repeat of the same sender prints the same. */
const hashOf = (content: Message['content']): string =>
  createHash('sha256').update(JSON.stringify(content)).digest('hex');

const keyTaken = (sequence: number): LedgerlineError =>
  new LedgerlineError('request_conflict', 'another message was sent with this key: make a new one', { sequence });
