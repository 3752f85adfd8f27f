/** Publishes to JetStream and waits for the acknowledgement, on one subscription for all of them. */
import { ErrorCode, NatsError, createInbox } from 'nats';
import type { Msg, MsgHdrs, NatsConnection } from 'nats';
import type { Clock, Timer } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { detach } from '../base/service.ts';

export interface AcknowledgedPublish {
  /** The number in the stream. Rejects with the broker's error, or when there was no acknowledgement in time: what became of it is unknown then. */
  (subject: string, data: Uint8Array, headers: MsgHdrs): Promise<number>;
}

interface Waiting {
  readonly resolve: (streamSequence: number) => void;
  readonly reject: (error: Error) => void;
  readonly timer: Timer;
}

/**
 * The client's own `publish` makes errors with their stacks for every message, those that go well as much as the others: a relay spent
 * two fifths of its CPU on them [bench].
 */
export function acknowledgedPublish(
  client: NatsConnection,
  { deadlineMs, clock, log }: { readonly deadlineMs: number; readonly clock: Clock; readonly log: Log },
): AcknowledgedPublish {
  const inbox = createInbox();
  const waiting = new Map<string, Waiting>();
  let count = 0;

  function take(reply: string): Waiting | undefined {
    const found = waiting.get(reply);
    waiting.delete(reply);
    found?.timer.cancel();
    return found;
  }

  function refuseAll(cause: void | Error): void {
    const error = cause instanceof Error ? cause : NatsError.errorForCode(ErrorCode.ConnectionClosed);
    for (const reply of waiting.keys()) take(reply)?.reject(error);
  }

  client.subscribe(`${inbox}.*`, {
    callback(error, message) {
      if (error !== null) return refuseAll(error); // this connection may not hear acknowledgements
      const one = take(message.subject);
      if (one === undefined) return; // too late
      const said = acknowledgementOf(message);
      if (typeof said === 'number') one.resolve(said);
      else one.reject(said);
    },
  });
  detach(client.closed().then(refuseAll), log, 'what waits for acknowledgements was not told of the end');

  return (subject, data, headers) =>
    new Promise((resolve, reject) => {
      const reply = `${inbox}.${(count += 1)}`;
      // What cannot be sent is thrown here: too large, or the connection is closed.
      client.publish(subject, data, { reply, headers });
      const late = (): void => take(reply)?.reject(NatsError.errorForCode(ErrorCode.Timeout));
      waiting.set(reply, { resolve, reject, timer: clock.after(deadlineMs, late) });
    });
}

interface Acknowledgement {
  readonly seq?: number;
  readonly error?: { readonly code: number; readonly err_code: number; readonly description: string };
}

function acknowledgementOf(message: Msg): number | Error {
  if (message.headers?.code === 503) return NatsError.errorForCode(ErrorCode.NoResponders);
  let said: Acknowledgement | null;
  try {
    said = message.json<Acknowledgement | null>();
  } catch (thrown) {
    return NatsError.errorForCode(ErrorCode.JetStreamInvalidAck, thrown as Error);
  }
  if (said?.error !== undefined) {
    const error = new NatsError(said.error.description, String(said.error.code));
    error.api_error = said.error;
    return error;
  }
  // Numbers count from 1: a cluster that knows the id of a message which its majority has not stored yet may answer 0.
  const seq = said?.seq;
  return Number.isSafeInteger(seq) && Number(seq) > 0
    ? Number(seq)
    : NatsError.errorForCode(ErrorCode.JetStreamInvalidAck);
}
