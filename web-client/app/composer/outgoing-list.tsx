/** Messages that were sent from this browser and are not in the session yet: at once, and with what became of them. */
import type { ReactElement } from 'react';
import type { Outgoing } from '../../src/outgoing.ts';
import type { SessionView } from '../../src/session-view.ts';
import { toFollowError } from '../base/use-poll.ts';
import { toContentText } from './content-text.ts';

interface OutgoingListProps {
  readonly outgoing: readonly Outgoing[];
  readonly view: Pick<SessionView, 'retrySend' | 'discardSend'>;
}

export function OutgoingList({ outgoing, view }: OutgoingListProps): ReactElement {
  return (
    <div role="presentation">
      {outgoing.map((message) => (
        <article
          key={message.key}
          className={`outgoing is-${message.state}`}
          aria-label="Your message, on its way"
          data-outgoing={message.state}
        >
          <div className="outgoing-content">
            <div className="message from-user">
              <div className="plain-text">{toContentText(message.content)}</div>
            </div>
            <div className="outgoing-state">
              <output>{toStateWords(message)}</output>
              {message.state === 'refused' && (
                <>
                  <button type="button" className="button quiet" onClick={() => view.retrySend(message.key)}>
                    Retry
                  </button>
                  <button type="button" className="button quiet" onClick={() => view.discardSend(message.key)}>
                    Discard
                  </button>
                </>
              )}
            </div>
          </div>
        </article>
      ))}
    </div>
  );
}

function toStateWords({ state, error }: Outgoing): string {
  switch (state) {
    case 'sending':
      return 'Sending';
    case 'unsent':
      return 'Not yet sent: it goes out as soon as the gateway can be reached';
    case 'refused':
      return `Refused: ${error === undefined ? 'no reason was given' : toFollowError(error).message}`;
  }
}
