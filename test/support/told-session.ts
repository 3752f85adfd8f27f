/** A session as agents tell it, made up from a list of numbers, together with what a screen has to show of it. */
import fc from 'fast-check';
import type { SessionEvent } from '../../web-client/src/session-event.ts';

export interface Told {
  readonly events: readonly SessionEvent[];
  /** The assistant's texts that stand, in the order in which they began. */
  readonly texts: readonly string[];
}

export type Draft = Omit<SessionEvent, 'sequence' | 'at'>;

/** Numbered from `first`, a millisecond apart. */
export const numbered = (drafts: readonly Draft[], first = 1): SessionEvent[] =>
  drafts.map((draft, index) => ({
    sequence: first + index,
    at: new Date(Date.UTC(2026, 10, 30, 4) + first + index).toISOString(),
    ...draft,
  }));

/** How a turn goes: its attempts, of which all but the last are lost, and whether it waits for a person in between. Its tool is journaled or not. */
const turnShape = fc.record({
  lost: fc.array(fc.nat({ max: 6 }), { maxLength: 2 }),
  pieces: fc.array(fc.string({ unit: 'binary', maxLength: 4 }), { maxLength: 12 }),
  thought: fc.string({ maxLength: 4 }),
  isWaiting: fc.boolean(),
  isCompleted: fc.boolean(),
  isTold: fc.boolean(),
  isJournaled: fc.boolean(),
  end: fc.constantFrom('turn.completed', 'turn.failed', 'turn.cancelled', 'turn.in_doubt'),
  vocabulary: fc.constantFrom('ledgerline', 'ai'),
});
type TurnShape = typeof turnShape extends fc.Arbitrary<infer T> ? T : never;

/**
 * `hasEnvelopes`: each event names its turn and attempt, as the server's own do; else only `turn.started` does, as with
 * a producer that knows no more than its own events.
 */
export const toldSession = (hasEnvelopes: fc.Arbitrary<boolean> = fc.boolean()): fc.Arbitrary<Told> =>
  fc.tuple(fc.array(turnShape, { maxLength: 5 }), hasEnvelopes).map(([turns, isNamed]) => {
    const drafts: Draft[] = [];
    const texts: string[] = [];
    turns.forEach((shape, index) => tellTurn(shape, index, isNamed, drafts, texts));
    return { events: numbered(drafts), texts };
  });

function tellTurn(shape: TurnShape, index: number, isNamed: boolean, drafts: Draft[], texts: string[]): void {
  const turn = `t${index}`;
  let attempt = 1;
  const add = (type: string, data: unknown): void =>
    void drafts.push(isNamed ? { type, data, turn, attempt } : { type, data });
  const ofStep = shape.isJournaled ? { step: 1 } : {};
  const addStep = (state: string, more: object = {}): void => {
    const facts = { turn, attempt, step: 1, kind: 'tool', tool: 'search', effect: 'read', ...more };
    drafts.push({ type: `step.${state}`, data: facts, turn, attempt });
  };
  drafts.push({ type: 'message.created', data: { key: `k${index}`, role: 'user', content: `question ${index}` } });
  for (const count of shape.lost) {
    add('turn.started', { turn, attempt });
    if (shape.vocabulary === 'ai') add('ui.chunk', { type: 'start', messageId: `m${index}` });
    for (let piece = 0; piece < count; piece += 1) say(add, shape.vocabulary, index, `lost ${piece}`);
    add('tool.call', { call: `c${index}`, ...ofStep, tool: 'search', args: {} });
    if (shape.isJournaled) addStep('started');
    attempt += 1;
  }
  add('turn.started', { turn, attempt });
  if (shape.vocabulary === 'ai') add('ui.chunk', { type: 'start', messageId: `m${index}` });
  add('reasoning.delta', { message: `r${index}`, text: shape.thought });
  if (shape.isJournaled && shape.isTold) addStep('started');
  add('tool.call', { call: `c${index}`, ...ofStep, tool: 'search', args: { index } });
  for (const piece of shape.pieces) say(add, shape.vocabulary, index, piece);
  const deliveries = shape.isTold ? { deliveries: [{ number: index + 1, topic: 'refund.issued' }] } : {};
  if (shape.isJournaled) addStep('done', { result: index, fromJournal: shape.lost.length > 0, ...deliveries });
  else add('tool.result', { call: `c${index}`, result: index });
  const text = shape.pieces.join('');
  if (shape.pieces.length > 0 || (shape.isTold && shape.vocabulary === 'ledgerline')) texts.push(text);
  if (shape.isTold && shape.vocabulary === 'ledgerline') {
    add('message.completed', { message: `m${index}`, role: 'assistant', content: text });
  }
  if (shape.isTold && shape.vocabulary === 'ai') add('ui.chunk', { type: 'finish' });
  if (shape.isWaiting) {
    add('approval.required', { approval: `a${index}`, tool: 'refund', args: { index }, reason: 'money' });
    add('turn.waiting', { turn, attempt });
    drafts.push({ type: 'approval.decided', data: { approval: `a${index}`, decision: 'approved', by: 'Ada' } });
    attempt += 1;
    add('turn.started', { turn, attempt });
  }
  drafts.push({ type: 'note', data: index });
  if (shape.isCompleted) add(shape.end, { turn, attempt, error: { code: 'stopped', message: 'it was stopped' } });
}

function say(add: (type: string, data: unknown) => void, vocabulary: string, index: number, text: string): void {
  if (vocabulary === 'ai') add('ui.chunk', { type: 'text-delta', id: `p${index}`, delta: text });
  else add('text.delta', { message: `m${index}`, text });
}

const short = fc.constantFrom('1', '2', '3');
const attempts = fc.integer({ min: 1, max: 3 });
const anything = fc.oneof(fc.jsonValue({ maxDepth: 1 }), short);

const knownTypes = [
  'message.created',
  'text.delta',
  'reasoning.delta',
  'message.completed',
  'tool.call',
  'tool.result',
  'approval.required',
  'approval.decided',
  'turn.started',
  'turn.waiting',
  'turn.completed',
  'turn.failed',
  'turn.cancelled',
  'turn.requested',
  'turn.steered',
  'turn.stopping',
  'turn.retrying',
  'turn.in_doubt',
  'step.started',
  'step.done',
  'step.failed',
  'step.in_doubt',
  'step.resolved',
  'session.snapshot',
  'constructor',
];
const chunkTypes = [
  'start',
  'text-start',
  'text-delta',
  'text-end',
  'reasoning-start',
  'reasoning-delta',
  'reasoning-end',
  'tool-input-start',
  'tool-input-delta',
  'tool-input-available',
  'tool-input-error',
  'tool-output-available',
  'tool-output-error',
  'tool-output-denied',
  'tool-approval-request',
  'tool-approval-response',
  'start-step',
  'finish-step',
  'reset-step',
  'source-url',
  'file',
  'data-weather',
  'steering-message',
  'message-metadata',
  'finish',
  'abort',
  'error',
  'toString',
];

/** Few ids, so that they meet; now and then a member that is something else. */
const fieldsOfEvent = {
  message: short,
  text: fc.string({ maxLength: 2 }),
  role: fc.constantFrom('user', 'assistant'),
  content: fc.oneof(fc.string({ maxLength: 3 }), fc.constant([{ type: 'text', text: 'part' }, { type: 'image' }])),
  call: short,
  tool: short,
  args: anything,
  result: anything,
  error: fc.option(fc.record({ code: short, message: short })),
  approval: short,
  decision: fc.constantFrom('approved', 'denied'),
  turn: short,
  attempt: attempts,
  try: attempts,
  step: attempts,
  kind: fc.constantFrom('tool', 'model'),
  effect: fc.constantFrom('read', 'once'),
  fromJournal: fc.boolean(),
  reserved: fc.nat({ max: 3 }),
  deliveries: fc.array(fc.record({ number: fc.nat({ max: 9 }), topic: short }), { maxLength: 2 }),
  by: short,
  outcome: fc.constantFrom('done', 'not_done'),
  onBusy: fc.constantFrom('enqueue', 'steer'),
  inputs: fc.array(fc.nat({ max: 40 }), { maxLength: 3 }),
  approvals: fc.array(short, { maxLength: 2 }),
  inMs: fc.oneof(fc.integer(), fc.double()),
};
const fieldsOfChunk = {
  id: short,
  delta: fc.string({ maxLength: 2 }),
  toolCallId: short,
  toolName: short,
  inputTextDelta: fc.string({ maxLength: 2 }),
  input: anything,
  output: anything,
  preliminary: fc.boolean(),
  approvalId: short,
  approved: fc.boolean(),
  messageId: short,
  errorText: short,
  data: anything,
  transient: fc.boolean(),
  parts: fc.constant([{ type: 'text', text: 'also' }]),
};

const wellFormed = fc.oneof(
  { weight: 2, arbitrary: fc.record({ type: fc.constantFrom(...knownTypes), data: fc.record(fieldsOfEvent) }) },
  fc.record({
    type: fc.constant('ui.chunk'),
    data: fc.record({ type: fc.constantFrom(...chunkTypes), ...fieldsOfChunk }),
  }),
);
const malformed = fc.oneof(
  fc.record({
    type: fc.constantFrom(...knownTypes, 'ui.chunk'),
    data: fc.oneof(
      anything,
      fc.dictionary(fc.constantFrom(...Object.keys(fieldsOfEvent), ...Object.keys(fieldsOfChunk)), anything),
    ),
  }),
  fc.record({
    type: fc.constant('ui.chunk'),
    data: fc.record({ type: fc.constantFrom(...chunkTypes), id: anything, delta: anything, toolCallId: anything }),
  }),
);

/** Events in any order at all, with few ids and turns, a part of them not what their type promises. */
export const anyEvents: fc.Arbitrary<readonly SessionEvent[]> = fc
  .array(
    fc
      .tuple(fc.oneof({ weight: 6, arbitrary: wellFormed }, malformed), fc.option(short), fc.option(attempts))
      .map(([draft, turn, attempt]) => ({
        ...draft,
        ...(turn === null ? {} : { turn, ...(attempt === null ? {} : { attempt }) }),
      })),
    { maxLength: 40, size: 'max' },
  )
  .map((drafts) => numbered(drafts));
