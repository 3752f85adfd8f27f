/** The three integers of the rail. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toFigures } from '../../../web-client/app/ledger/figures.ts';

const facts = (head: number, watermark?: number) => ({ head, room: watermark === undefined ? null : { watermark } });

describe('the figures', () => {
  test('are level when all is delivered', () => {
    expect(toFigures({ facts: facts(42, 42), head: 42, cursor: 42 })).toEqual({
      head: 42,
      watermark: 42,
      cursor: 42,
      watermarkBehind: 0,
      cursorBehind: 0,
    });
  });

  test('show the blind spot: the ledger has what the room has not', () => {
    expect(toFigures({ facts: facts(47, 46), head: 46, cursor: 46 })).toMatchObject({
      watermarkBehind: 1,
      cursorBehind: 0,
    });
  });

  test('show a browser that is behind its room', () => {
    expect(toFigures({ facts: facts(60, 60), head: 45, cursor: 45 })).toMatchObject({
      watermarkBehind: 0,
      cursorBehind: 15,
    });
  });

  test('never show a stale answer as a lag: what this browser has, the room and the ledger have', () => {
    expect(toFigures({ facts: facts(40, 40), head: 45, cursor: 45 })).toMatchObject({ head: 45, watermark: 45 });
  });

  test('know of no room, and of no answer', () => {
    expect(toFigures({ facts: facts(47), head: 40, cursor: 40 })).toMatchObject({ watermark: null, cursorBehind: 7 });
    expect(toFigures({ head: 47, cursor: 40 })).toMatchObject({ watermark: undefined, cursorBehind: 7 });
    expect(toFigures({ facts: facts(47, 47), head: 0, cursor: undefined })).toMatchObject({
      head: 47,
      cursor: undefined,
    });
  });

  test('add up', () => {
    fc.assert(
      fc.property(fc.nat(9), fc.nat(9), fc.nat(9), fc.nat(9), (ledger, watermark, head, cursor) => {
        const figures = toFigures({ facts: facts(ledger, watermark), head, cursor });
        expect(figures.watermarkBehind).toBeGreaterThanOrEqual(0);
        expect(figures.cursorBehind).toBeGreaterThanOrEqual(0);
        expect(cursor + figures.cursorBehind + figures.watermarkBehind).toBe(figures.head);
      }),
    );
  });
});
