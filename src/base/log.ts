/** Lines of JSON on standard error, each with the session, sequence or subscriber it speaks of; never a token or a payload. */
import { pino } from 'pino';

export type Log = pino.Logger;
export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

/** Gets the lines, each with its line break. */
export interface LogDestination {
  write(line: string): unknown;
}

/** Standard output belongs to a command's own answer; logs go to standard error. */
const standardError = (): LogDestination => pino.destination({ dest: 2, sync: false });

export function createLog(level: LogLevel, destination = standardError()): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: ['authorization', '*.authorization', 'token', '*.token', 'headers.cookie', 'key', '*.key'],
    },
    destination,
  );
}

export const silentLog: Log = pino({ level: 'silent' });
