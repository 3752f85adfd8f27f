/** Appends as lists in text, each list one parameter: arrays cost the driver 1.3 to 2.5 times the CPU [bench] (pure). */
import { assert } from '../base/assert.ts';
import type { NewEvent } from '../event/event.ts';
import { limits } from '../base/limits.ts';
import type { AppendRequest } from './ledger.ts';

/** Separates payloads: a JSON text whose raw line breaks became spaces holds no line feed. */
export const PAYLOAD_SEPARATOR = '\n';
/** Separates everything else; excluded by the grammar of every id, type and number. */
export const SEPARATOR = ',';
/** Stands for null in a list; excluded likewise. */
export const NULL = '*';

const session = new RegExp(`^[A-Za-z0-9_-]{1,${limits.sessionIdLength}}$`);
const producer = new RegExp(`^[A-Za-z0-9._:-]{1,${limits.producerIdLength}}$`);
const type = new RegExp(`^[a-z0-9._-]{1,${limits.eventTypeLength}}$`);
/** Turn ids go into envelopes without escaping. */
const turn = /^[A-Za-z0-9._:-]{1,128}$/;
/** As far as it must be known not to hold a separator. */
const traceparent = /^[0-9a-f-]{55}$/;
const lineBreak = /[\r\n]/;

/**
 * The door has checked all of this; the ledger checks once more, because a separator inside a value would move it into
 * somebody else's append [I9], and a line break would end somebody's frame.
 */
export function assertSeparable(request: AppendRequest): void {
  assert(session.test(request.session), 'the session id has its grammar');
  assert(request.producer === undefined || producer.test(request.producer.id), 'the producer id has its grammar');
  assert(request.fence === undefined || turn.test(request.fence.turn), 'the turn id has its grammar');
  assert(request.events.length > 0, 'an append has an event');
  assertEvents(request.events);
}

/** The same for the events alone, with the turn that each may be of. */
export function assertEvents(events: readonly (NewEvent & { fence?: AppendRequest['fence'] })[]): void {
  for (const event of events) {
    assert(event.fence === undefined || turn.test(event.fence.turn), 'the turn id has its grammar');
    assert(type.test(event.type), 'the event type has its grammar');
    assert(!lineBreak.test(event.data), 'a payload is one line');
    assert(event.traceparent === undefined || traceparent.test(event.traceparent), 'the traceparent has its grammar');
  }
}

export const joinTypes = (events: readonly NewEvent[]): string => events.map((event) => event.type).join(SEPARATOR);

export const joinPayloads = (events: readonly NewEvent[]): string =>
  events.map((event) => event.data).join(PAYLOAD_SEPARATOR);

export const joinTraces = (events: readonly NewEvent[]): string | null =>
  joinGiven(events.map((event) => event.traceparent));

/** Null where nobody has given one: the statement then has nothing to take apart, and finds null at every place. */
export const joinGiven = (values: readonly (string | number | undefined)[]): string | null =>
  values.some((value) => value !== undefined) ? joinValues(values) : null;

export const joinValues = (values: readonly (string | number | undefined)[]): string =>
  values.map((value) => value ?? NULL).join(SEPARATOR);
