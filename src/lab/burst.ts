/** A short burst of notes, each an append of its own, of which nobody hears the last: the loss that only the head check finds. */
import { labLimits } from '../base/lab-limits.ts';
import type { AppendRequest, Outcome } from '../ledger/ledger.ts';

type Append = (request: AppendRequest) => Promise<Outcome>;

export interface Appends {
  readonly heard: Append;
  /** Stored all the same. */
  readonly unheard: Append;
}

/** The outcome of the last, or the first that is not `appended`. */
export async function appendBurst({ heard, unheard }: Appends, session: string): Promise<Outcome> {
  const count = labLimits.labBurstEvents;
  for (let place = 1; place < count; place += 1) {
    const outcome = await heard(note(session, place));
    if (outcome.kind !== 'appended') return outcome;
  }
  return unheard(note(session, count));
}

function note(session: string, place: number): AppendRequest {
  const data = JSON.stringify({ text: `burst ${place} of ${labLimits.labBurstEvents}` });
  return { session, events: [{ type: 'note', data, bytes: Buffer.byteLength(data) }] };
}
