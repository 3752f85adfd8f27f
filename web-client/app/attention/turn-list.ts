/** The turns that need a person, or that are under way, and what a person can do about one. */
import { request } from '../base/request.ts';

export type Which = 'attention' | 'active';

export interface ListedTurn {
  readonly session: string;
  /** Null: it is queued, and no worker has begun it. */
  readonly turn: string | null;
  readonly status: 'queued' | 'open' | 'waiting' | 'done' | 'failed' | 'cancelled' | 'in_doubt';
  readonly state: 'idle' | 'ready' | 'running' | 'waiting';
  readonly worker: string | null;
  readonly tries: number;
  readonly maxAttempts: number | null;
  /** Since when it is as it is. */
  readonly since: string;
  readonly error: { readonly code: string; readonly message: string } | null;
  /** The steps that a person must resolve. */
  readonly doubts: readonly Doubt[];
}

export interface Doubt {
  readonly step: number;
  readonly tool: string;
  readonly effect: string;
}

export type TurnAction = 'retry' | 'rerun' | 'acknowledge' | 'stop';

/** As many as the server lists. */
export const MOST_TURNS = 200;

/** Rejects with a `FollowError`, as everything here. */
export async function readTurns(which: Which, signal: AbortSignal): Promise<readonly ListedTurn[]> {
  const path = `/turns?which=${which}&limit=${MOST_TURNS}`;
  return (await request<{ readonly turns: readonly ListedTurn[] }>('GET', path, { signal })).turns;
}

export async function actOn(session: string, turn: string | null, action: TurnAction): Promise<void> {
  const root = `/sessions/${encodeURIComponent(session)}`;
  if (action === 'stop') await request('POST', `${root}/stop`, turn === null ? {} : { body: { turn } });
  else await request('POST', `${root}/turns/${encodeURIComponent(turn ?? '')}/${action}`);
}
