/** Asks the development server's lab for its state and its marks, and for trouble. */
import type { LabMark } from '../ledger/marks.ts';
import { request } from '../base/request.ts';
import type { LabState, Trial } from './lab-faults.ts';

/** Whether this page was served by a development server: said in the page itself, so that no other is ever asked. */
export const hasLab = (): boolean =>
  document.querySelector('meta[name="ledgerline-lab"]')?.getAttribute('content') === 'on';

/** Each rejects with a `FollowError`. */
export const readLab = (signal: AbortSignal): Promise<LabState> => request<LabState>('GET', '/lab', { signal });

export const readLabMarks = async (
  session: string,
  after: number,
  signal: AbortSignal,
): Promise<readonly LabMark[]> => {
  const path = `/lab/sessions/${encodeURIComponent(session)}/marks?after=${after}`;
  const { marks } = await request<{ readonly marks: readonly LabMark[] }>('GET', path, { signal });
  return marks;
};

export const causeFault = (fault: Exclude<Trial, 'sever'>, session: string): Promise<unknown> =>
  request('POST', '/lab/faults', { body: { fault, session } });

export const pauseHeadCheck = (isPaused: boolean): Promise<unknown> =>
  request('POST', '/lab/head-check', { body: { isPaused } });
