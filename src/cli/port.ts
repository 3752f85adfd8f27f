/** A port of a command: what it may be, and what to do about one that cannot be had. */
import { InvalidArgumentError } from 'commander';
import { LedgerlineError, toError } from '../base/errors.ts';

export function parsePort(text: string): number {
  if (/^[0-9]{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new InvalidArgumentError('It is a port: 0 to 65535, where 0 picks a free one.');
}

/** `settings` names what each port was set by. Any other error stays as it is. */
export function explainPort(thrown: unknown, settings: Readonly<Record<number, string>>): Error {
  const error = toError(thrown);
  const refused = refusedPort(error);
  const setting = refused === undefined ? undefined : settings[refused.port];
  if (refused === undefined || setting === undefined) return error;
  const why = refused.code === 'EACCES' ? 'may not be used by this user' : 'is taken by another process';
  return new LedgerlineError('unavailable', `port ${refused.port} ${why}: choose another with ${setting}`, {}, error);
}

function refusedPort(error: Error): { code: string; port: number } | undefined {
  const { code, port } = error as NodeJS.ErrnoException & { port?: number };
  if ((code === 'EADDRINUSE' || code === 'EACCES') && port !== undefined) return { code, port };
  return error.cause instanceof Error ? refusedPort(error.cause) : undefined;
}
