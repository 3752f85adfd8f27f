/** How high a row will be, before it is measured: near enough that the scrollbar tells the truth (pure). */
import type { Row } from './rows.ts';
import { hasFacts } from './tool-words.ts';

const LINE_PIXELS = 25;
const CHARACTER_PIXELS = 7.4;
const MARGIN_PIXELS = 150;

export function estimateHeight(row: Row | undefined, width: number): number {
  switch (row?.kind) {
    case 'message': {
      const characters = Math.max(20, Math.min(720, width - MARGIN_PIXELS) / CHARACTER_PIXELS);
      return 24 + Math.ceil(row.text.length / characters) * LINE_PIXELS;
    }
    case 'turn':
    case 'turn_end':
      return 49;
    case 'tool':
      return 54 + (hasFacts(row) ? 26 : 0) + (row.state === 'in_doubt' ? 76 : 0);
    case 'approval':
      return row.decision === undefined ? 250 : 200;
    case 'reasoning':
    case 'abandoned':
    case 'other':
    case undefined:
      return 40;
  }
}
