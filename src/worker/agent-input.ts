/** What the ledger and the turns hold, as an agent reads it. */
import { toCursor } from '../event/sequence.ts';
import type { Sessions } from '../session/sessions.ts';
import type { Decision, Input } from '../turn/turns.ts';
import type { AgentDecision, AgentInput, HistoryEvent, HistoryRequest } from './agent-turn.ts';

type MessageData = Pick<AgentInput, 'key' | 'content' | 'by'>;

/** The data of a `message.created` that the server itself wrote, so its shape is known. */
export function readInput({ sequence, at, data }: Input): AgentInput {
  const { key, content, by } = JSON.parse(data) as MessageData;
  return { sequence, at, key, content, by };
}

export const readDecisions = (decisions: readonly Decision[]): ReadonlyMap<string, AgentDecision> =>
  new Map(decisions.map(({ approval, ...decision }) => [approval, decision]));

/** Of a session's end, if nothing else is asked for: that is where the conversation is. */
export async function readHistory(
  sessions: Pick<Sessions, 'history'>,
  session: string,
  { after, before, limit = 100 }: HistoryRequest = {},
): Promise<readonly HistoryEvent[]> {
  const range =
    after === undefined ? { before: toCursor(before ?? Number.MAX_SAFE_INTEGER) } : { after: toCursor(after) };
  const { events } = await sessions.history(session, { ...range, limit });
  return events.map((text) => JSON.parse(text) as HistoryEvent);
}
