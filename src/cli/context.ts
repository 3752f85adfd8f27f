/** What a command gets from its process. */
import type { Readable } from 'node:stream';
import type { Clock } from '../base/clock.ts';
import type { Environment } from '../config.ts';
import type { Output } from './output.ts';

export interface Context {
  readonly env: Environment;
  /** The working folder; its `.ledgerline/` is where a development server lives. */
  readonly folder: string;
  readonly input: Readable;
  readonly output: Output;
  /** Aborts on the first SIGINT or SIGTERM. */
  readonly stop: AbortSignal;
  readonly clock: Clock;
}
