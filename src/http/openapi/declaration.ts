/** A route as it is mounted: where, by which method, and what it says of itself. */
import type { Operation } from './operation.ts';

export type Method = 'GET' | 'POST' | 'DELETE';

export interface Declaration {
  readonly method: Method;
  /** As the router has it: `/sessions/:session`. */
  readonly path: string;
  readonly operation: Operation;
}

export type ListenerName = 'public' | 'internal';
