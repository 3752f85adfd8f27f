/** What a variable may hold: each reads a text, or says what it should have been; a message never repeats it, for it may be a secret. */
import { logLevels } from './base/log.ts';
import type { LogLevel } from './base/log.ts';

/** HS256 asks for a key of at least its hash's size [spec: RFC 7518, 3.2]. */
const SECRET_LENGTH = 32;

export const makeOne = `at least ${SECRET_LENGTH} characters; make one with: openssl rand -base64 32`;
export const databaseExample = 'the Postgres to use, such as postgres://user:password@host:5432/database';

function hasProtocol(text: string, protocols: readonly string[]): boolean {
  return URL.canParse(text) && protocols.includes(new URL(text).protocol);
}

export function databaseUrl(text: string): string {
  if (!hasProtocol(text, ['postgres:', 'postgresql:']))
    throw new Error(`is not a Postgres address: ${databaseExample}`);
  return text;
}

export function natsUrl(text: string): string {
  const servers = text.split(',').map((server) => server.trim());
  if (!servers.every((server) => hasProtocol(server, ['nats:', 'tls:']))) {
    throw new Error('is not a NATS address, such as nats://host:4222 (several are separated by commas)');
  }
  return servers.join(',');
}

export function subject(text: string): string {
  if (!/^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*$/.test(text))
    throw new Error('is not a subject: words of A-Z a-z 0-9 _ -, joined by dots');
  return text;
}

export function host(text: string): string {
  if (/[\s/]/.test(text)) throw new Error('is not a host to listen on, such as 127.0.0.1 or 0.0.0.0');
  return text;
}

function wholeNumber(text: string, highest: number): number | undefined {
  const value = Number(text);
  return /^[0-9]{1,9}$/.test(text) && value <= highest ? value : undefined;
}

export function port(text: string): number {
  const value = wholeNumber(text, 65_535);
  if (value === undefined) throw new Error('is not a port: 0 to 65535, where 0 picks a free one');
  return value;
}

export function replicas(text: string): number {
  const value = wholeNumber(text, 5);
  if (value === undefined || value % 2 === 0) throw new Error('is not a number of copies: 1, 3 or 5');
  return value;
}

export function milliseconds(text: string): number {
  const value = wholeNumber(text, 3_600_000);
  if (value === undefined) throw new Error('is not a number of milliseconds of at most an hour');
  return value;
}

/** How much in a second, or how many at a time. */
export function rate(text: string): number {
  const value = wholeNumber(text, 999_999_999);
  if (value === undefined || value === 0) throw new Error('is not a number from 1 to 999999999');
  return value;
}

export function yesOrNo(text: string): boolean {
  if (['true', '1', 'yes', 'on'].includes(text.toLowerCase())) return true;
  if (['false', '0', 'no', 'off'].includes(text.toLowerCase())) return false;
  throw new Error('is neither true nor false');
}

export function secret(text: string): string {
  if (text.length < SECRET_LENGTH) throw new Error(`is too short: ${makeOne}`);
  return text;
}

export const secretHeader = (text: string): string => credential(secret(text));

/** Compared with what a token says, letter by letter. */
export function claim(text: string): string {
  if (text.trim() !== text || text.length > 1_024)
    throw new Error('is not a name or an address of at most 1,024 characters');
  return text;
}

/** It travels in a header, so it must be one visible word. */
export function credential(text: string): string {
  if (!/^[\x21-\x7e]+$/.test(text)) throw new Error('has spaces or other characters that no header can carry');
  return text;
}

/** Browsers send exact origins, so only exact ones are compared. */
export function origins(text: string): readonly string[] {
  const list = text
    .split(',')
    .map((origin) => origin.trim())
    .filter((origin) => origin !== '');
  for (const origin of list) {
    if (!hasProtocol(origin, ['http:', 'https:']) || new URL(origin).origin !== origin) {
      throw new Error(
        'holds something that is not an origin, such as https://app.example.com (no path, no final slash)',
      );
    }
  }
  return list;
}

export function logLevel(text: string): LogLevel {
  const level = logLevels.find((known) => known === text);
  if (level === undefined) throw new Error(`is not one of ${logLevels.join(', ')}`);
  return level;
}

/**
 * The address of a server, without its final slash so that paths can follow. One with a name and a password in it is refused:
 * `fetch` takes none such, and says so by repeating it, into the log.
 */
export function address(text: string): string {
  if (!hasProtocol(text, ['http:', 'https:'])) throw new Error('is not an address, such as http://127.0.0.1:8080');
  const { username, password } = new URL(text);
  if (username !== '' || password !== '')
    throw new Error('holds a user or a password before its host, which no request would carry: leave them out');
  return text.replace(/\/+$/, '');
}
