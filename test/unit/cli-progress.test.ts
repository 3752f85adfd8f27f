/** A progress is drawn anew where somebody looks at it, and is a line now and then where nobody does. */
import { expect, it } from 'vitest';
import { createOutput } from '../../src/cli/output.ts';
import { createProgress } from '../../src/cli/progress.ts';
import { manualClock } from '../support/manual-clock.ts';

function scene(isTTY: boolean) {
  let written = '';
  const stream = {
    isTTY,
    write: (text: string, done: () => void) => {
      written += text;
      done();
      return true;
    },
    on: () => undefined,
  };
  const clock = manualClock();
  let events = 0;
  const progress = createProgress({ output: createOutput(stream, stream), clock }, () => `played ${events}`);
  return {
    clock,
    progress,
    move: () => {
      events += 1;
      progress.moved();
    },
    written: () => written,
  };
}

it('is one line of a terminal, which is taken away in the end', async () => {
  const { clock, move, progress, written } = scene(true);
  for (let round = 0; round < 6; round += 1) {
    move();
    await clock.advance(100);
  }
  expect(written()).toBe('\r\u001b[Kplayed 3\r\u001b[Kplayed 5');
  progress.end();
  expect(written().endsWith('\r\u001b[K')).toBe(true);
});

it('is a plain line every ten seconds elsewhere', async () => {
  const { clock, move, progress, written } = scene(false);
  for (let round = 0; round < 25; round += 1) {
    move();
    await clock.advance(1_000);
  }
  progress.end();
  expect(written()).toBe('played 11\nplayed 21\n');
});
