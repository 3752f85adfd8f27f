/** A port that cannot be had, told with what to do about it. */
import { LedgerlineError, toError } from '../base/errors.ts';

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
