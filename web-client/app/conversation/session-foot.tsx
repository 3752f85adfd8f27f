/** Below the conversation: what the agent does, and where one writes to it. */
import { useEffect } from 'react';
import type { ReactElement } from 'react';
import type { SessionSnapshot, SessionView } from '../../src/session-view.ts';
import { hasScope, tokenOrNothing } from '../access/token.ts';
import { AgentBar } from '../agent/agent-bar.tsx';
import { endingOf, findDoubt, findQuestion, lastTurnOf } from '../agent/last-turn.ts';
import { actOn } from '../attention/turn-list.ts';
import { Composer } from '../composer/composer.tsx';
import { clockLeadMs } from '../ledger/latency.ts';
import { useLatency } from '../ledger/use-latency.ts';
import type { SessionKeys } from './session-keys.ts';

interface SessionFootProps {
  readonly session: string;
  readonly view: SessionView;
  readonly snapshot: SessionSnapshot;
  /** What the agent does is known. */
  readonly isKnown: boolean;
  /** The session takes no more. */
  readonly isOver: boolean;
  readonly keys: SessionKeys;
  readonly pointAt: (sequence: number) => void;
  /** Something happened that a list of sessions shows. */
  readonly changed: () => void;
}

export function SessionFoot(props: SessionFootProps): ReactElement {
  const { session, view, snapshot, isKnown, isOver, keys, pointAt, changed } = props;
  const { turn, timeline } = snapshot;
  const leadMs = clockLeadMs(useLatency(snapshot));
  const token = tokenOrNothing();
  const maySend = hasScope(token, 'send');
  const { items } = timeline;
  const asked =
    turn.state === 'waiting' ? findQuestion(items) : turn.state === 'idle' ? findDoubt(items)?.first : undefined;
  const refusal = toRefusal(isOver, maySend);
  useEffect(changed, [changed, turn.state, turn.turn]);
  return (
    <div className="session-foot">
      {isKnown ? (
        <AgentBar
          turn={turn}
          last={lastTurnOf(items)?.turn}
          ending={endingOf(items)}
          clockLeadMs={leadMs}
          stopButton={keys.stop}
          stop={maySend && !isOver ? () => view.stopTurn() : undefined}
          retry={hasScope(token, 'write') && !isOver ? (failed) => actOn(session, failed, 'retry') : undefined}
          showAsked={asked === undefined ? undefined : () => pointAt(asked)}
        />
      ) : (
        <div className="agent-bar" />
      )}
      {refusal === undefined ? (
        <Composer
          session={session}
          field={keys.composer}
          isBusy={turn.state !== 'idle'}
          send={(content, onBusy) => {
            view.send(content, { onBusy }).then(changed, () => {
              // What became of it stands beside the message.
            });
          }}
        />
      ) : (
        <p className="composer-off">{refusal}</p>
      )}
    </div>
  );
}

function toRefusal(isOver: boolean, maySend: boolean): string | undefined {
  if (isOver) return 'The session is over: it takes no more messages.';
  return maySend ? undefined : 'This token may not write: it lacks the scope “send”.';
}
