/** How far a long command has come: on a terminal one line that is drawn anew, else a line now and then. */
import type { Context } from './context.ts';

export interface Progress {
  /** Something has happened; says so if it is time. */
  moved(): void;
  /** Leaves the terminal as a person expects it. */
  end(): void;
}

const REDRAW_MS = 200;
const LINE_MS = 10_000;

export function createProgress({ output, clock }: Pick<Context, 'output' | 'clock'>, describe: () => string): Progress {
  const everyMs = output.redraw === undefined ? LINE_MS : REDRAW_MS;
  let saidMs = clock.now();
  let isDrawn = false;
  return {
    moved() {
      if (clock.now() - saidMs < everyMs) return;
      saidMs = clock.now();
      isDrawn = output.redraw !== undefined;
      if (output.redraw === undefined) output.note(describe());
      else output.redraw(describe());
    },
    end() {
      if (isDrawn) output.redraw?.('');
    },
  };
}
