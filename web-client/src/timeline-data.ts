/** What producers wrote is not trusted to have the shape that its type promises. */
import type { ToolDelivery, TurnError } from './timeline-item.ts';

/** The members that are read of any event's data, or of a chunk of the AI SDK. */
type Field =
  | 'approval'
  | 'approvalId'
  | 'approvals'
  | 'approved'
  | 'args'
  | 'attempt'
  | 'by'
  | 'call'
  | 'code'
  | 'comment'
  | 'content'
  | 'decision'
  | 'deliveries'
  | 'delta'
  | 'effect'
  | 'error'
  | 'errorText'
  | 'fromJournal'
  | 'id'
  | 'inMs'
  | 'input'
  | 'inputs'
  | 'inputTextDelta'
  | 'key'
  | 'kind'
  | 'message'
  | 'messageId'
  | 'number'
  | 'onBusy'
  | 'outcome'
  | 'output'
  | 'parts'
  | 'preliminary'
  | 'reason'
  | 'reserved'
  | 'result'
  | 'role'
  | 'step'
  | 'text'
  | 'tool'
  | 'toolCallId'
  | 'toolName'
  | 'topic'
  | 'transient'
  | 'try'
  | 'turn'
  | 'type';

export type Fields = { readonly [F in Field]?: unknown };

export const fieldsOf = (value: unknown): Fields | undefined =>
  typeof value === 'object' && value !== null ? value : undefined;

export const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

export const numberOf = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

/** What went wrong, as an event of a turn tells it. */
export function errorOf(value: unknown): TurnError | undefined {
  const { code, message } = fieldsOf(value) ?? {};
  return typeof message === 'string' ? { code: textOf(code) ?? '', message } : undefined;
}

export const areDeliveries = (value: unknown): value is readonly ToolDelivery[] =>
  Array.isArray(value) && value.every((one) => isDelivery(fieldsOf(one)));

const isDelivery = (one: Fields | undefined): boolean =>
  typeof one?.number === 'number' && typeof one.topic === 'string';

/** Why a turn is over whose step nobody but a person can tell of. */
export const withDoubt = (data: Fields): Fields => ({
  ...data,
  error: { code: 'in_doubt', message: `A person must tell what became of step ${numberOf(data.step) ?? '?'}.` },
});

/** A text, or the joined text parts of a list; `joined` where there is none at all; undefined for what is no content. */
export function contentOf(content: unknown, joined: string): string | undefined {
  if (content === undefined || content === null) return joined;
  if (!Array.isArray(content)) return textOf(content);
  return content.map((part) => partText(fieldsOf(part))).join('');
}

const partText = (part: Fields | undefined): string => (part?.type === 'text' ? (textOf(part.text) ?? '') : '');
