/** What a screen reader says of a row before its content (pure). */
import type { Row } from './rows.ts';

export function nameRow(row: Row): string {
  const range = row.first === row.last ? `sequence ${row.first}` : `sequences ${row.first} to ${row.last}`;
  switch (row.kind) {
    case 'message':
      return `Message of the ${row.role}, ${range}`;
    case 'reasoning':
      return `Reasoning, ${range}`;
    case 'tool':
      return `Call of ${row.tool ?? 'a tool'}, ${row.state.replace('_', ' ')}, ${range}`;
    case 'approval':
      return `Approval, ${row.isVoid === true ? 'void' : (row.decision ?? 'open')}, ${range}`;
    case 'turn':
      return row.turn === ''
        ? `Messages taken back, ${range}`
        : `Turn ${row.turn}, ${row.state.replace('_', ' ')}, ${range}`;
    case 'turn_end':
      return `End of turn ${row.item.turn}, ${row.item.state.replace('_', ' ')}, ${range}`;
    case 'abandoned':
      return `Abandoned attempt, ${range}`;
    case 'other':
      return `Event ${row.type}, ${range}`;
  }
}
