/** What a diagnosis is given: where to look, how far, and whom to tell. */
import type { Wire } from './call.ts';
import type { Deployment } from './deployment.ts';
import type { Finding } from './finding.ts';

export interface Examination {
  readonly deployment: Deployment;
  readonly wire: Wire;
  /** Only looked at; without one the doctor makes sessions of its own. */
  readonly session: string | undefined;
  /** Of the page that will read. */
  readonly origin: string | undefined;
  /** Leaves out what takes half a minute. */
  readonly isQuick: boolean;
  readonly tell: (finding: Finding) => Promise<void>;
  /** How long a quiet stream has been watched. */
  readonly watching: (passedMs: number) => void;
}

/** Tells findings, unless it was interrupted: then what was seen last means nothing. */
export type Tell = (...findings: readonly Finding[]) => Promise<void>;
