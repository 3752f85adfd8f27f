/** Subjects and headers of a delivery (pure): what leaves, and a total reading of whatever arrives. */
import { assert } from '../base/assert.ts';
import type { Delivery } from './delivery.ts';

const token = /^[A-Za-z0-9_-]+$/;

/** Beside the root of the bus and never below it: what may be lost and what may not share no subject. */
export const deliveryRootOf = (subjectRoot: string): string => `${subjectRoot}-fx`;

/** `LEDGERLINE_FX` for the root `ledgerline`: deployments that share a broker do not share a stream. */
export const streamOf = (subjectRoot: string): string => `${subjectRoot.replaceAll('.', '_').toUpperCase()}_FX`;

/** One subject for each session, whatever the topic: its deliveries are numbered together, and arrive together. */
export function deliverySubjectOf(subjectRoot: string, session: string): string {
  assert(token.test(session), 'a session id is one subject token');
  return `${deliveryRootOf(subjectRoot)}.${session}`;
}

/**
 * The broker forgets a message whose id it knows, and says that it is stored: so an id is no other session's, and a tombstone's
 * is not its delivery's, which may be sent again and must then be stored.
 */
export const messageIdOf = ({ session, identity, payload }: Delivery): string =>
  `${session}:${identity}${payload === undefined ? ':tombstone' : ''}`;

export const headerNames = {
  number: 'Ledgerline-Number',
  identity: 'Ledgerline-Identity',
  topic: 'Ledgerline-Topic',
  /** Of a tombstone alone. */
  tombstone: 'Ledgerline-Tombstone',
} as const;

export function headersOf({
  outboxSequence,
  identity,
  topic,
  payload,
}: Delivery): readonly (readonly [string, string])[] {
  return [
    [headerNames.number, String(outboxSequence)],
    [headerNames.identity, identity],
    [headerNames.topic, topic],
    ...(payload === undefined ? [[headerNames.tombstone, '1'] as const] : []),
  ];
}

/** The number that a message carries; undefined when it is not ours. */
export function numberOf(header: (name: string) => string | undefined): number | undefined {
  const number = header(headerNames.number) ?? '';
  return /^[1-9][0-9]{0,15}$/.test(number) && Number.isSafeInteger(Number(number)) ? Number(number) : undefined;
}

/** Undefined for what is not ours or is damaged. */
export function readDelivery(
  subject: string,
  header: (name: string) => string | undefined,
  body: () => string,
): Delivery | undefined {
  const session = subject.slice(subject.lastIndexOf('.') + 1);
  const outboxSequence = numberOf(header);
  const [identity, topic] = [header(headerNames.identity), header(headerNames.topic)];
  if (outboxSequence === undefined || !token.test(session)) return undefined;
  if (identity === undefined || identity === '' || topic === undefined || topic === '') return undefined;
  const isTombstone = header(headerNames.tombstone) === '1';
  return { session, outboxSequence, identity, topic, payload: isTombstone ? undefined : body() };
}
