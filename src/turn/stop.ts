/** A person stops what the agent does: a worker is told, or, where none is at it, it is over at once. */
import type { StopMode, TurnState } from '../event/turn-state.ts';
import { noteActivity } from '../ledger/session-row.ts';
import type { TurnHead } from '../ledger/turn-head.ts';
import { endCurrent } from './end.ts';
import type { CancelReason } from './end.ts';
import { cancelPending } from './request-row.ts';
import type { Work } from './transaction.ts';
import { attemptEvent, turnEvent } from './turn-event.ts';
import { isUnderWay, lockKnownHead } from './under-lock.ts';

export interface Stopped {
  readonly isStopping: boolean;
  readonly isStopped: boolean;
  readonly state: TurnState;
}

/** With `turn`, only if that one is under way: a stop that comes late never hits a newer one. */
export async function stop(work: Work, session: string, by: string, turn?: string): Promise<Stopped> {
  const head = await lockKnownHead(work.tx, session);
  if (turn !== undefined && head.turn !== turn) return nothing(head.turnState);
  return stopCurrent(work, head, 'stop', by);
}

const nothing = (state: TurnState): Stopped => ({ isStopping: false, isStopped: false, state });

const reasons: Readonly<Record<StopMode, CancelReason>> = { stop: 'stopped', interrupt: 'interrupted' };

export async function stopCurrent(work: Work, head: TurnHead, mode: StopMode, by: string): Promise<Stopped> {
  const reason = reasons[mode];
  switch (head.turnState) {
    case 'idle':
      return nothing('idle');
    case 'running':
      await askToStop(work, head, mode, by);
      return { isStopping: true, isStopped: false, state: 'running' };
    case 'ready':
    case 'waiting': {
      const { state } = isUnderWay(head)
        ? await endCurrent(work, head, { status: 'cancelled', reason, by })
        : await cancelQueued(work, head, reason, by);
      return { isStopping: false, isStopped: true, state };
    }
  }
}

/** Told again in each renewal; asking twice changes nothing. */
async function askToStop(work: Work, head: TurnHead, mode: StopMode, by: string): Promise<void> {
  if (head.stop !== undefined || !isUnderWay(head)) return;
  const event = attemptEvent('turn.stopping', { turn: head.turn, attempt: head.fence }, { by, mode });
  await work.move(head, { to: 'stopping', mode }, [event]);
  work.wake({ kind: 'stop', session: head.session, turn: head.turn });
}

/** No worker has begun, so no turn ends: the messages are taken back. */
async function cancelQueued(
  work: Work,
  head: TurnHead,
  reason: CancelReason,
  by: string | undefined,
): Promise<{ readonly state: TurnState }> {
  const inputs = await cancelPending(work.tx, head.session);
  const stored = await work.move(head, { to: 'idle' }, [turnEvent('turn.cancelled', { inputs, reason, by })]);
  await noteActivity(work.tx, head.session, stored?.last);
  return { state: 'idle' };
}
