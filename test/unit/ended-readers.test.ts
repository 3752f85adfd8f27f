/** Who was told that a session is over, within a bound. */
import { describe, expect, it } from 'vitest';
import { createEndedReaders } from '../../src/http/ended-readers.ts';

describe('the memory of ended readers', () => {
  it('knows a reader that comes back all the same, and forgets it then', () => {
    const ended = createEndedReaders(10);
    expect([ended.cameBack('a'), ended.cameBack('b'), ended.cameBack('a'), ended.cameBack('a')]).toEqual([
      false,
      false,
      true,
      false,
    ]);
  });

  it('lets go of the oldest when it is full [I6]', () => {
    const ended = createEndedReaders(2);
    for (const reader of ['a', 'b', 'c']) ended.cameBack(reader);
    expect(ended.cameBack('b')).toBe(true);
    expect(ended.cameBack('c')).toBe(true);
    expect(ended.cameBack('a')).toBe(false);
  });
});
