/** What every row of the conversation has to know, and what it can ask for: one context, so that rows stay memoised. */
import { createContext, useContext } from 'react';
import type { SessionView } from '../../src/session-view.ts';
import type { Resolve } from '../work/resolve-step.ts';

export type Decide = SessionView['decide'];

export interface Reading {
  readonly session: string;
  /** What is searched for, while it is. */
  readonly pattern: RegExp | undefined;
  /** Nothing more will come, so nothing is in the middle of being written. */
  readonly isOver: boolean;
  readonly pointAt: (sequence: number) => void;
  readonly toggleAttempt: (key: string) => void;
  /** Undefined for who may decide nothing. */
  readonly decide: Decide | undefined;
  /** Undefined for who may resolve no doubt. */
  readonly resolve: Resolve | undefined;
}

const ReadingContext = createContext<Reading | undefined>(undefined);

export const ReadingProvider = ReadingContext.Provider;

export function useReading(): Reading {
  const reading = useContext(ReadingContext);
  if (reading === undefined) throw new Error('a row outside of the conversation');
  return reading;
}
