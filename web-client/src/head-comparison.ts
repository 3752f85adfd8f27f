/** Whether a connection that looks alive still brings what the session holds: the ledger's head beside the cursor. */
import type { Clock } from './clock.ts';
import type { Line } from './line.ts';
import { pause } from './pause.ts';
import type { Recipient } from './recipient.ts';
import type { SessionServer } from './session-server.ts';
import { settle } from './settle.ts';

/** How long what is on its way may take to come, and how long the answer. */
const GRACE_MS = 1_000;
const ANSWER_MS = 5_000;

/** Severs the line when it does not bring what the session holds, or when nobody answers. Never rejects. */
export async function compareHeads(
  server: SessionServer,
  clock: Clock,
  recipient: Recipient,
  line: Line,
): Promise<void> {
  const before = Number(recipient.cursor);
  const deadline = clock.after(ANSWER_MS, () => line.sever('cut'));
  const answer = await settle(server.describe(line.signal), line.signal);
  deadline.cancel();
  if (answer.kind !== 'value') return line.sever('cut');
  const { head, state } = answer.value;
  if (head > Number(recipient.cursor)) recipient.head(head);
  // A session that is over, or whose head fell, is something that the stream has to tell.
  const isUntold = state !== 'open' || head < before;
  while (isUntold || head > Number(recipient.cursor)) {
    const { beats } = line;
    await pause(clock, GRACE_MS, line.signal);
    if (line.signal.aborted) return;
    if (beats !== undefined && beats === line.beats) return line.sever('cut');
  }
}
