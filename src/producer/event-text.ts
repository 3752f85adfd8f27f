/** An event as it goes into a request's body (pure), checked before it is taken: it cannot spoil a batch later. */
import { toError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { eventTypeShape } from '../event/event.ts';
import { checkDepth, toOneLine } from '../event/slice.ts';
import { ownError } from './producer-error.ts';

/** `{"type":…,"data":…}` around a payload's text. Throws `malformed`, `too_large` or `too_deep`. */
export function eventText(type: string, payload: string): string {
  const shape = eventTypeShape.safeParse(type);
  if (!shape.success) {
    throw ownError('malformed', shape.error.issues[0]?.message ?? 'not an event type', { where: 'type' });
  }
  // In the form in which the server will measure it.
  const data = toOneLine(payload);
  if (Buffer.byteLength(data) > limits.payloadBytes) {
    const fields = { limit: 'payloadBytes' };
    throw ownError('too_large', `the payload of an event has at most ${limits.payloadBytes} bytes`, fields);
  }
  try {
    checkDepth(data);
  } catch (thrown) {
    throw ownError('too_deep', toError(thrown).message, { limit: 'jsonDepth' }, thrown);
  }
  return `{"type":"${type}","data":${data}}`;
}

/** The payload of a value. Throws `malformed` for what JSON cannot hold. */
export function payloadOf(data: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(data);
  } catch (thrown) {
    throw ownError('malformed', `the payload cannot be JSON: ${toError(thrown).message}`, { where: 'data' }, thrown);
  }
  if (text === undefined) throw ownError('malformed', 'the payload cannot be JSON', { where: 'data' });
  return text;
}

/** The payload of a JSON text, which stays as it is [I2]. Throws `malformed`. */
export function payloadOfText(json: string): string {
  try {
    JSON.parse(json);
  } catch (thrown) {
    throw ownError('malformed', 'the payload is not JSON', { where: 'data' }, thrown);
  }
  // UTF-8 cannot carry half of a surrogate pair, and would replace it; JSON's escape of it can.
  return json.replaceAll(/\p{Surrogate}/gu, (half) => `\\u${half.charCodeAt(0).toString(16)}`);
}
