/** Chunks that are joined for a replay make the very message that they make one by one. */
import type { UIMessageChunk } from 'ai';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { chunkOf, joinDeltas } from '../../../web-client/src/answer-chunk.ts';
import { messageOf } from '../../support/ai-chat.ts';
import { eventOf } from '../../support/scripted-session.ts';

const metadata = fc.option(fc.record({ model: fc.record({ tokens: fc.nat(9) }) }), { nil: undefined });
const id = fc.constantFrom('1', '2');
const delta = fc.string({ unit: 'binary', maxLength: 3 });
/** Few parts, whose deltas meet. */
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant('text-delta'), id, delta, providerMetadata: metadata }) },
  { weight: 4, arbitrary: fc.record({ type: fc.constant('reasoning-delta'), id, delta, providerMetadata: metadata }) },
  fc.record({ type: fc.constant('tool-input-delta'), toolCallId: id, inputTextDelta: delta }),
  fc.record({ type: fc.constant('data-note'), data: fc.nat() }),
);

const opening: UIMessageChunk[] = [
  { type: 'start', messageId: 'a1' },
  ...['1', '2'].flatMap((one): UIMessageChunk[] => [
    { type: 'text-start', id: one },
    { type: 'reasoning-start', id: one },
    { type: 'tool-input-start', toolCallId: one, toolName: 'look' },
  ]),
];

describe('neighbouring deltas', () => {
  test('of one part become one, and the message stays the same', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const chunks = [...opening, ...steps.map((one) => JSON.parse(JSON.stringify(one)) as UIMessageChunk)];
        const joined = joinDeltas(chunks);
        expect(await messageOf(joined as UIMessageChunk[])).toEqual(await messageOf(chunks));
        for (const [index, chunk] of joined.entries()) {
          const before = joined[index - 1];
          if (!chunk.type.endsWith('-delta') || before?.type !== chunk.type) continue;
          expect([before.id, before.toolCallId]).not.toEqual([chunk.id, chunk.toolCallId]);
        }
      }),
    );
  });

  test('of ten thousand tokens become a handful', () => {
    const deltas = Array.from({ length: 10_000 }, (_, index) => ({ type: 'text-delta', id: '1', delta: `${index}` }));
    expect(joinDeltas([{ type: 'start' }, { type: 'text-start', id: '1' }, ...deltas])).toHaveLength(3);
  });

  test('that are none by their shape stay as they are', () => {
    const odd = [
      { type: 'text-delta', id: '1', delta: 7 },
      { type: 'text-delta', id: '1', delta: 'a' },
      { type: 'tool-input-delta', toolCallId: '1' },
      { type: 'tool-input-delta', toolCallId: '1', inputTextDelta: 'b' },
      { type: 'data-delta', id: '1', delta: 'c' },
      { type: 'data-delta', id: '1', delta: 'd' },
    ];
    expect(joinDeltas(odd)).toEqual(odd);
  });
});

test.each([null, 'text', 7, [], {}, { type: 7 }])('an event that holds %j is no chunk', (data) => {
  expect(chunkOf(eventOf(1, data, 'ui.chunk'))).toBeUndefined();
  expect(chunkOf(eventOf(1, { type: 'start' }, 'note'))).toBeUndefined();
});
