/** Reads the body of an append: bytes in, events whose payloads are the sender's own text out (pure). */
import { z } from 'zod';
import { LedgerlineError } from '../base/errors.ts';
import type { ErrorFields } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { eventTypeShape } from './event.ts';
import type { NewEvent } from './event.ts';
import { parseJson, parseText, shaped } from './json-body.ts';
import { producerShape } from './producer.ts';
import type { Producer } from './producer.ts';
import { toCursor } from './sequence.ts';
import type { Cursor } from './sequence.ts';
import { sliceData, sliceMembers, toOneLine } from './slice.ts';
import { fenceShape } from './turn-id.ts';
import type { Fence } from './turn-id.ts';

export interface AppendBody {
  readonly events: readonly NewEvent[];
  readonly producer?: Producer;
  readonly expectedHead?: Cursor;
  readonly fence?: Fence;
}

const eventShape = z.strictObject({ type: eventTypeShape, data: z.unknown() });

/** The events of a body, as a member of its shape. */
export const eventsShape = z.array(eventShape).max(limits.eventsPerAppend);

export const appendShape = z
  .strictObject({
    producer: producerShape.optional().describe('Makes a repeated append visible.'),
    expectedHead: z.int().min(0).optional().describe('Append only if the head is still here.'),
    fence: fenceShape.optional().describe('Append only as this attempt at the running turn, and extend its lease.'),
    events: eventsShape.min(1),
  })
  .meta({
    id: 'Append',
    examples: [{ producer: { id: 'agent-7', sequence: 41 }, events: [{ type: 'text.delta', data: { text: 'Hel' } }] }],
  });

/** All or nothing: one bad event refuses the body, and the error says which and why. */
export function parseAppendBody(bytes: Uint8Array): AppendBody {
  const { body, events } = parseEventsBody(bytes, appendShape);
  // In this order: past 2^53 an addition of 2 and a subtraction of 1 may come out even.
  const last = (body.producer?.sequence ?? 1) + (events.length - 1);
  if (!Number.isSafeInteger(last)) {
    throw new LedgerlineError('malformed', 'the counter of the last event would pass 2^53−1', {
      where: 'producer.sequence',
    });
  }
  return {
    events,
    ...(body.producer === undefined ? {} : { producer: body.producer }),
    ...(body.expectedHead === undefined ? {} : { expectedHead: toCursor(body.expectedHead) }),
    ...(body.fence === undefined ? {} : { fence: body.fence }),
  };
}

/** A body with events among its members: the rest of it in its shape, and the events, whose data is the sender's own text [I2]. */
export function parseEventsBody<Shape extends z.ZodType<{ events: z.infer<typeof eventsShape> }>>(
  bytes: Uint8Array,
  shape: Shape,
): { body: z.infer<Shape>; events: NewEvent[] } {
  const { text, value } = parseJson(bytes, sliceData);
  const body = shaped(shape, value);
  const events = body.events.map((event, index): NewEvent => {
    return newEvent(event.type, text[index], { where: `events[${index}].data`, fields: { index } });
  });
  return { body, events: detached(events, bytes.length) };
}

/** An event alone: `{"type","data"}` as a text. */
export function parseEventText(json: string): NewEvent {
  const { text, value } = parseText(json, sliceMembers);
  const { type } = shaped(eventShape, value);
  const event = newEvent(type, text.get('data'), { where: 'data', fields: {} });
  return detached([event], json.length)[0] ?? event;
}

/** What surrounds the data of a few small events; so much may be kept for nothing. */
const SURROUNDINGS_BYTES = 4_096;

/**
 * A slice keeps the text alive that it was cut from, and events may wait long for their flush: those out of a body that
 * is mostly something else are copied, so that they cost what they are counted for [I6].
 */
function detached(events: NewEvent[], bodyBytes: number): NewEvent[] {
  const bytes = events.reduce((sum, event) => sum + event.bytes, 0);
  if (bodyBytes <= bytes * 2 + SURROUNDINGS_BYTES) return events;
  return events.map((event) => ({ ...event, data: Buffer.from(event.data).toString() }));
}

function newEvent(type: string, slice: string | undefined, place: { where: string; fields: ErrorFields }): NewEvent {
  if (slice === undefined) throw new LedgerlineError('malformed', 'the event has no data', { where: place.where });
  const data = toOneLine(slice);
  const size = Buffer.byteLength(data);
  if (size > limits.payloadBytes) {
    throw new LedgerlineError('too_large', `an event's data holds at most ${limits.payloadBytes} bytes`, {
      limit: 'payloadBytes',
      max: limits.payloadBytes,
      ...place.fields,
    });
  }
  return { type, data, bytes: size };
}
